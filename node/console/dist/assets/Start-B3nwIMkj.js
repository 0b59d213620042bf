import{C as e,D as t,E as n,O as r,P as i,g as a,k as o,n as s,o as c,w as l}from"./States-DRtDvOVO.js";import{t as u}from"./Tabs-In7xf2YO.js";import{K as d,R as f,m as p,t as m}from"./Text-B8Y6v0TT.js";import{t as h}from"./live-qfmliHe5.js";import{b as g,m as _,x as v,y}from"./index-DxZw1Z61.js";import{t as b}from"./Copy-Czr2Ygyt.js";import{t as x}from"./icons-CQx2qVhb.js";import{n as S,r as C}from"./KeySecret-BNeHGZY1.js";import{t as w}from"./sampleProducts-DnnxikQZ.js";var T=d(f(),1),E=p();function D(){let{session:e}=y(),i=w(),l=g(`GET /catalog-search-service/catalogs/products`,{query:{limit:1}}),[d,f]=(0,T.useState)(!1),p=v(()=>c(`POST /key-service/keys`,{body:{kind:`auction`,name:`first auction`}}),`/key-service/keys`);h({auction:()=>f(d||p.data!==void 0)});let x=p.data?.key,D=S(i.products),j=l.data?.response.length===0;return(0,E.jsxs)(_,{title:`Send your first auction`,about:`Three steps from this page to a winner. They can be repeated at any time.`,children:[(0,E.jsxs)(O,{number:1,title:`Get an auction key`,done:x!==void 0,children:[x?(0,E.jsxs)(m,{children:[`The key `,(0,E.jsx)(`b`,{children:`first auction`}),` is made. The command below contains it; it is not shown again later.`]}):(0,E.jsx)(o,{children:(0,E.jsx)(n,{onClick:()=>p.mutate(void 0),loading:p.isPending,children:`Create an auction key`})}),p.error&&(0,E.jsx)(s,{error:p.error})]}),(0,E.jsxs)(O,{number:2,title:`Run an auction`,done:d,children:[j&&(0,E.jsxs)(r,{color:`yellow`,title:`The catalog is empty`,children:[`The auction will have no winner. Add`,` `,(0,E.jsx)(t,{component:a,to:`/catalog`,children:`products`}),` `,`and a`,` `,(0,E.jsx)(t,{component:a,to:`/campaigns`,children:`campaign`}),`, or start `,(0,E.jsx)(`b`,{children:`gavel demo`}),` for a filled market.`]}),x?(0,E.jsxs)(u,{defaultValue:`curl`,children:[(0,E.jsxs)(u.List,{children:[(0,E.jsx)(u.Tab,{value:`curl`,children:`curl`}),(0,E.jsx)(u.Tab,{value:`js`,children:`JavaScript`}),(0,E.jsx)(u.Tab,{value:`go`,children:`Go`})]}),(0,E.jsx)(u.Panel,{value:`curl`,pt:`sm`,children:(0,E.jsx)(b,{label:`In a terminal`,text:C(x,i.products)})}),(0,E.jsx)(u.Panel,{value:`js`,pt:`sm`,children:(0,E.jsx)(b,{label:`In Node.js 20 or newer`,text:k(x,D)})}),(0,E.jsx)(u.Panel,{value:`go`,pt:`sm`,children:(0,E.jsx)(b,{label:`A Go program`,text:A(x,D)})})]}):(0,E.jsx)(m,{c:`dimmed`,children:`First create the key.`})]}),(0,E.jsx)(O,{number:3,title:d?`The request has arrived`:`Waiting for the request`,done:d,children:d?(0,E.jsxs)(r,{color:`green`,role:`status`,title:`The node has answered an auction`,children:[`See`,` `,(0,E.jsx)(t,{component:a,to:`/live`,children:`live auctions`}),`, or why each bid won or lost in the`,` `,(0,E.jsx)(t,{component:a,to:`/playground`,children:`playground`}),`.`]}):(0,E.jsxs)(m,{c:`dimmed`,children:[`This turns green as soon as the node answers an auction`,e.demo&&`; the demo's shoppers count too`,`.`]})})]})}function O({number:t,title:n,done:r,children:a}){return(0,E.jsx)(i,{withBorder:!0,radius:`md`,p:`lg`,children:(0,E.jsxs)(l,{children:[(0,E.jsxs)(o,{gap:`sm`,wrap:`nowrap`,children:[(0,E.jsx)(`span`,{className:r?`step step-done`:`step`,children:r?(0,E.jsx)(x,{}):t}),(0,E.jsx)(e,{order:2,size:`h4`,children:n})]}),a]})})}var k=(e,t)=>`const response = await fetch("${window.location.origin}/v2/auctions", {
  method: "POST",
  headers: { Authorization: "Bearer ${e}", "Content-Type": "application/json" },
  body: JSON.stringify(${JSON.stringify(t)}),
});
console.log(JSON.stringify(await response.json(), null, 2));`,A=(e,t)=>`package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
)

func main() {
	body := strings.NewReader(\`${JSON.stringify(t)}\`)
	request, err := http.NewRequest(http.MethodPost, "${window.location.origin}/v2/auctions", body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer ${e}")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer))
}`;export{D as default};