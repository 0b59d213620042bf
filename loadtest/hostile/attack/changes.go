package attack

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// changes renames campaigns by the hundreds at once, each with an X-Request-Id of 15 KB. Each change has a mark of
// its own as its name and in its address, so that its entry can be found in the audit log.
type changes struct {
	campaigns []string
	count     int
}

const (
	requestIDBytes = 15 << 10
	burst          = burstMax
	// manyCampaigns lets the changes of a burst be answered together; each campaign lists so many products that its entry, which holds
	// it before and after the change, is as large as an entry may be.
	manyCampaigns = 40
	listedBytes   = 2_800
	// burstEvery bounds the entries of an hour to 24,000, a quarter of what the audit log keeps of a marketplace.
	burstEvery = time.Minute
)

func (c *changes) Prepare(ctx context.Context, e *Env) error {
	if err := makeVendor(ctx, e); err != nil {
		return err
	}
	for len(c.campaigns) < manyCampaigns {
		listed := strings.Repeat(fmt.Sprintf("%q,", strings.Repeat("p", 197)), listedBytes/200)
		id, err := makeCampaign(ctx, e, `"productIds":[`+listed+`"p"],`)
		if err != nil {
			return err
		}
		c.campaigns = append(c.campaigns, id)
	}
	return nil
}

func (c *changes) Attack(ctx context.Context, e *Env) error {
	for {
		began := time.Now()
		// All at once: what is written together is larger than one write may be.
		several(burst, func(i int) { e.change(ctx, c.campaigns[i%manyCampaigns], fmt.Sprintf("mark-%d", c.count+i)) })
		c.count += burst
		if !pause(ctx, burstEvery-time.Since(began)) {
			return nil
		}
	}
}

// change renames the campaign. A request that was begun is waited for also when the window ends: its outcome has to be known.
func (e *Env) change(ctx context.Context, campaign, mark string) {
	id := strings.Repeat("<", requestIDBytes-len(mark)) + mark // JSON writes six bytes for each of them.
	status, _, err := e.API.Call(context.WithoutCancel(ctx), "PATCH", public+"/campaign-service/campaigns/"+campaign+"?mark="+mark,
		fmt.Appendf(nil, `{"name":%q}`, mark), "X-Request-Id", id)
	e.Tally.Add("sent", 1)
	e.Tally.answered(status, err)
	switch {
	case err == nil && status/100 == 2:
		e.Tally.Add("acknowledged", 1)
		e.Tally.mark(mark)
	case status == 429:
		pause(ctx, 200*time.Millisecond) // The same change is not repeated: the limit is part of what is tested.
	case status == 431 || status == 400: // A field that is refused for its length: one below the limit of the node goes on.
		e.short(ctx, campaign, mark)
	}
}

// short makes the change with an id of 60 characters.
func (e *Env) short(ctx context.Context, campaign, mark string) {
	status, _, err := e.API.Call(context.WithoutCancel(ctx), "PATCH", public+"/campaign-service/campaigns/"+campaign+"?mark="+mark,
		fmt.Appendf(nil, `{"name":%q}`, mark), "X-Request-Id", strings.Repeat("x", 60))
	e.Tally.Add("sent with a short id", 1)
	if err == nil && status/100 == 2 {
		e.Tally.Add("acknowledged", 1)
		e.Tally.mark(mark)
	}
}
