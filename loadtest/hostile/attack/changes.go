package attack

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// changes makes bursts of changes that rename campaigns, each with an X-Request-Id of 15 KB. Each change has its own mark, as the new name and
// in the URL, so that its entry can be found in the audit log.
type changes struct {
	campaigns []string
	count     int
}

const (
	requestIDBytes = 15 << 10
	burst          = burstMax
	// manyCampaigns is how many campaigns are changed, so that the node can make the changes of a burst at the same time. Each campaign
	// lists so many products that an audit entry, which has the campaign before and after the change, is as large as it may be.
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
		// The burst is sent at once, so that what is written together is larger than one write may be.
		several(burst, func(i int) { e.change(ctx, c.campaigns[i%manyCampaigns], fmt.Sprintf("mark-%d", c.count+i)) })
		c.count += burst
		if !pause(ctx, burstEvery-time.Since(began)) {
			return nil
		}
	}
}

// change renames the campaign. It waits for the answer also when the window ends, because the outcome has to be known.
func (e *Env) change(ctx context.Context, campaign, mark string) {
	id := strings.Repeat("<", requestIDBytes-len(mark)) + mark // In JSON each < becomes six bytes.
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
	case status == 431 || status == 400: // The node refuses the header for its length; one below its limit is sent.
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
