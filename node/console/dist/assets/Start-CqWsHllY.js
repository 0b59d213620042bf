import{J as e,K as t,U as n,W as r,Y as i,et as a,h as o,n as s,o as c,q as l}from"./States-el5S5_hC.js";import{t as u}from"./Tabs-BnBu4iZz.js";import{L as d,W as f,m as p,t as m}from"./Text-CtAfzCE-.js";import{r as h,t as g}from"./useCounters-CxAjEVSm.js";import{a as _,c as v,d as y,f as b,u as x}from"./index-uGBwhQNd.js";import{t as S}from"./Copy-BiOd09Qs.js";import{n as C,r as w}from"./KeySecret-DXphnuiv.js";import{t as T}from"./sampleProducts-BZoD-hm5.js";var E=f(d(),1),D=p();function O(){let{session:n}=x(),r=T(),a=y(`GET /catalog-search-service/catalogs/products`,{query:{limit:1}}),d=g(),f=d.data&&h(d.data,`gavel_auctions_total`),[p,_]=(0,E.useState)(null),O=b(()=>c(`POST /key-service/keys`,{body:{kind:`auction`,name:`first auction`}}),`/key-service/keys`),M=p!==null&&f!==void 0&&f>p,N=O.data?.key,P=C(r.products),F=a.data?.response.length===0;return(0,D.jsxs)(v,{title:`Send your first auction`,about:`Three steps from this page to a winner. They can be repeated at any time.`,children:[(0,D.jsxs)(k,{number:1,title:`Get an auction key`,done:N!==void 0,children:[N?(0,D.jsxs)(m,{children:[`The key `,(0,D.jsx)(`b`,{children:`first auction`}),` is made. The command below contains it; it is not shown again later.`]}):(0,D.jsx)(i,{children:(0,D.jsx)(t,{onClick:()=>O.mutate(void 0,{onSuccess:()=>_(f??0)}),loading:O.isPending,children:`Create an auction key`})}),O.error&&(0,D.jsx)(s,{error:O.error})]}),(0,D.jsxs)(k,{number:2,title:`Run an auction`,done:M,children:[F&&(0,D.jsxs)(e,{color:`yellow`,title:`The catalog is empty`,children:[`The auction will have no winner. Add `,(0,D.jsx)(l,{component:o,to:`/catalog`,children:`products`}),` and a `,(0,D.jsx)(l,{component:o,to:`/campaigns`,children:`campaign`}),`, or start `,(0,D.jsx)(`b`,{children:`gavel demo`}),` for a filled market.`]}),N?(0,D.jsxs)(u,{defaultValue:`curl`,children:[(0,D.jsxs)(u.List,{children:[(0,D.jsx)(u.Tab,{value:`curl`,children:`curl`}),(0,D.jsx)(u.Tab,{value:`js`,children:`JavaScript`}),(0,D.jsx)(u.Tab,{value:`go`,children:`Go`})]}),(0,D.jsx)(u.Panel,{value:`curl`,pt:`sm`,children:(0,D.jsx)(S,{label:`In a terminal`,text:w(N,r.products)})}),(0,D.jsx)(u.Panel,{value:`js`,pt:`sm`,children:(0,D.jsx)(S,{label:`In Node.js 20 or newer`,text:A(N,P)})}),(0,D.jsx)(u.Panel,{value:`go`,pt:`sm`,children:(0,D.jsx)(S,{label:`A Go program`,text:j(N,P)})})]}):(0,D.jsx)(m,{c:`dimmed`,children:`First create the key.`})]}),(0,D.jsx)(k,{number:3,title:M?`The request has arrived`:`Waiting for the request`,done:M,children:M?(0,D.jsxs)(e,{color:`green`,role:`status`,title:`The node has answered an auction`,children:[`See `,(0,D.jsx)(l,{component:o,to:`/live`,children:`live auctions`}),`, or why each bid won or lost in the `,(0,D.jsx)(l,{component:o,to:`/playground`,children:`playground`}),`.`]}):(0,D.jsxs)(m,{c:`dimmed`,children:[`This turns green as soon as the node answers an auction`,n.demo&&`; the demo's shoppers count too`,`.`]})})]})}function k({number:e,title:t,done:o,children:s}){return(0,D.jsx)(a,{withBorder:!0,radius:`md`,p:`lg`,children:(0,D.jsxs)(r,{children:[(0,D.jsxs)(i,{gap:`sm`,wrap:`nowrap`,children:[(0,D.jsx)(`span`,{className:o?`step step-done`:`step`,children:o?(0,D.jsx)(_,{}):e}),(0,D.jsx)(n,{order:2,size:`h4`,children:t})]}),s]})})}var A=(e,t)=>`const response = await fetch("${window.location.origin}/v2/auctions", {
  method: "POST",
  headers: { Authorization: "Bearer ${e}", "Content-Type": "application/json" },
  body: JSON.stringify(${JSON.stringify(t)}),
});
console.log(JSON.stringify(await response.json(), null, 2));`,j=(e,t)=>`package main

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
}`;export{O as default};