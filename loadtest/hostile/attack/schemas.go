package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// schemas sends templates whose schema doubles the work with each level, and content that fails at each of 8,000 places on each path, and
// beside them bodies with deep nesting and with very many triggers and segments.
type schemas struct {
	slots []schemaSlot // The placements of the templates that the node accepted.
}

// schemaSlot is a placement and its template.
type schemaSlot struct{ slot, template string }

// doublings are the numbers of levels in the order in which they are tried, until the node accepts one.
var doublings = []int{12, 11, 10, 8, 6, 4, 2}

func (s *schemas) Prepare(ctx context.Context, e *Env) error {
	if err := makeVendor(ctx, e); err != nil {
		return err
	}
	return s.upload(ctx, e)
}

func (s *schemas) Attack(ctx context.Context, e *Env) error {
	several(3, func(worker int) {
		for i := worker; pause(ctx, 300*time.Millisecond); i++ {
			s.send(ctx, e, i)
		}
	})
	return nil
}

// upload sends a template for each keyword, the deepest first, and creates a placement for the deepest that the node accepts.
func (s *schemas) upload(ctx context.Context, e *Env) error {
	for _, keyword := range []string{"anyOf", "allOf", "oneOf"} {
		for _, depth := range doublings {
			name := fmt.Sprintf("t-%s-%d", keyword, depth)
			body := fmt.Sprintf(`{"name":%q,"description":"D","adFormat":"sponsored_brand","jsonSchema":%s}`, name, doubling(keyword, depth))
			status, answer, err := e.API.Call(ctx, "POST", public+"/campaign-service/json-templates", []byte(body))
			if err != nil {
				return err
			}
			e.Tally.Add("templates sent", 1)
			e.Tally.answered(status, nil)
			if status/100 != 2 {
				continue
			}
			var made struct{ ID string }
			if err := json.Unmarshal(answer, &made); err != nil {
				return err
			}
			slot := strings.ToLower(name)
			body = fmt.Sprintf(`{"externalPlacementId":%q,"name":"Schema","jsonTemplateId":%q,"title":{"minLength":1,"maxLength":50},`+
				`"products":{"min":1,"max":3}}`, slot, made.ID)
			if _, err := e.API.Need(ctx, "POST", public+"/placement-service/placements", []byte(body)); err != nil {
				return err
			}
			e.Tally.setMax("doublings taken "+keyword, int64(depth))
			s.slots = append(s.slots, schemaSlot{slot, made.ID})
			break
		}
	}
	return nil
}

// doubling is a schema in which each level refers to the one below twice, so that 2^depth paths lead to the leaf.
func doubling(keyword string, depth int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$defs":{"d0":{"type":"array","items":{"type":"string"}}`)
	for i := range depth {
		fmt.Fprintf(&b, `,"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, keyword, i, i)
	}
	fmt.Fprintf(&b, `},"properties":{"headline":{"$ref":"#/$defs/d%d"}}}`, depth)
	return b.String()
}

// contentItems is how many items make a content of 16,000 bytes, below the 16 KiB that a campaign may have.
const contentItems = 7_900

func (s *schemas) send(ctx context.Context, e *Env, i int) {
	path, name := public+"/campaign-service/campaigns?vendor_id=v1", "content sent"
	var body string
	switch i % 6 {
	case 3:
		path, body, name = public+"/campaign-service/json-templates", nested(5_000), "deep bodies"
	case 4:
		body, name = manyTriggers(e.Target.Quick), "trigger bodies"
	case 5:
		path, body, name = public+"/segment-service/segments", manySegments(e.Target.Quick), "segment bodies"
	default:
		if len(s.slots) == 0 {
			return
		}
		at := s.slots[i%len(s.slots)]
		body = fmt.Sprintf(`{"name":"Content","campaignType":"manual","promotionType":{"adFormat":"sponsored_brand"},"chargeType":"CPC",`+
			`"bids":[{"target":{"type":"brand","id":"acme"},"amount":300,"triggers":[{"type":"keyword","value":{"words":["acme"]}}],`+
			`"formatProperties":{"adFormat":"sponsored_brand","slotId":%q,"jsonTemplateId":%q,"title":"Acme","productIds":["p1"],"content":{"headline":[%s0]}}}]}`,
			at.slot, at.template, strings.Repeat("0,", contentItems))
	}
	method := "POST"
	if name == "segment bodies" {
		method = "PUT"
	}
	status, _, err := e.API.Call(ctx, method, path, []byte(body))
	e.Tally.Add(name, 1)
	e.Tally.answered(status, err)
}

// nested is a template whose schema has this many levels.
func nested(depth int) string {
	return `{"name":"deep","description":"D","jsonSchema":` + strings.Repeat(`{"not":`, depth) + `{}` + strings.Repeat(`}`, depth) + `}`
}

// manyTriggers is a campaign with the most bids, triggers and words that a body may have.
func manyTriggers(quick bool) string {
	bids, triggers := 500, 50
	if quick {
		bids, triggers = 20, 10
	}
	words := make([]string, 20)
	for i := range words {
		words[i] = fmt.Sprintf(`"w%d"`, i)
	}
	trigger := `{"type":"keyword","value":{"matchType":"broad","words":[` + strings.Join(words, ",") + `]}}`
	all := strings.TrimSuffix(strings.Repeat(trigger+",", triggers), ",")
	var b strings.Builder
	b.WriteString(`{"name":"Triggers","campaignType":"manual","isActive":false,"bids":[`)
	for i := range bids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"target":{"type":"product","id":"p%d"},"amount":10,"triggers":[%s]}`, i, all)
	}
	b.WriteString(`]}`)
	return b.String()
}

// manySegments defines dynamic segments with the most behaviours, parameters and entities.
func manySegments(quick bool) string {
	segments, parameters := 60, 20
	if quick {
		segments, parameters = 4, 4
	}
	entities := `"e` + strings.Join(strings.Split(strings.Repeat("1", 100), ""), `","e`) + `"`
	parameter := `{"entity_type":"vendor","entity_list":[` + entities + `]}`
	behavior := `{"logic":"and","action_type":"clicks","time_window":{"value":30},"frequency":{"value":3,"operator":"gte"},"parameters":[` +
		strings.TrimSuffix(strings.Repeat(parameter+",", parameters), ",") + `]}`
	behaviors := strings.TrimSuffix(strings.Repeat(behavior+",", 5), ",")
	var all []string
	for i := range segments {
		all = append(all, fmt.Sprintf(`{"id":"s%d","name":"S","config":{"type":"dynamic","definition":{"behaviors":[%s]}}}`, i, behaviors))
	}
	return `{"segments":[` + strings.Join(all, ",") + `]}`
}
