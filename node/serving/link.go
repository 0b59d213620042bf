package serving

import (
	"context"
	"log/slog"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// linkUsers answers POST /v2/events/beta/link-users: 204 after the link is committed, or the first violation in the body,
// or 503. A repeat changes nothing, so a client may send a link again whenever it does not know the outcome.
func (c *Core) linkUsers(sc *Scratch, r *Request) apierr.Code {
	if !c.beginCommit() {
		return sc.refuse(apierr.ServiceUnavailable, tooManyWaiting)
	}
	defer c.eventsRunning.Add(-1)
	x, code := c.prepareLink(sc, r)
	if code != apierr.OK {
		return code
	}
	group := c.Topology.GroupOf(shard.UserShard(x.To))
	if c.level(group) < command.LevelUsers {
		return sc.refuse(apierr.ServiceUnavailable, "users can be linked once every node of the cluster runs this version")
	}
	return c.commitLink(sc, group, command.AppendLinkUsers(nil, r.Now.UnixMilli(), x))
}

// prepareLink turns the body into a link of hashes. It only reads, like prepareEvents.
func (c *Core) prepareLink(sc *Scratch, r *Request) (x *command.LinkUsers, code apierr.Code) {
	defer sc.recoverPanic(&code)
	m, code := sc.checkRequest(c.View(), r, c.EventBodyMax)
	if code != apierr.OK {
		return nil, code
	}
	secret := c.Secret()
	if secret == nil {
		return nil, sc.refuse(apierr.ServiceUnavailable, "")
	}
	if code = wire.ParseLink(r.Body, &sc.link, &sc.fault); code != apierr.OK {
		return nil, sc.refuseFault(code)
	}
	h := &sc.event.hasher
	h.secret, h.marketplace = secret, m.Ordinal
	return &command.LinkUsers{Marketplace: m.Ordinal, From: h.user(sc.link.From), To: h.user(sc.link.To)}, apierr.OK
}

// commitLink waits like commitEvents: also when the caller disconnects, and no longer than the proposer allows.
func (c *Core) commitLink(sc *Scratch, group ids.Group, cmd []byte) apierr.Code {
	answer, err := c.Proposer.Propose(context.Background(), group, cmd)
	if err != nil {
		return sc.refuse(apierr.ServiceUnavailable, "")
	}
	result, err := command.ReadResult(answer)
	if err == nil && result.Refusal == command.MarketplaceClosed {
		return sc.refuse(apierr.ServiceUnavailable, closedMessage)
	}
	if err != nil || result.Refusal != command.Done {
		c.Log.Error("link_command_refused", slog.Int("group", int(group)), slog.Int("refusal", int(result.Refusal)), slog.Any("err", err))
		return sc.refuse(apierr.InternalServerError, "")
	}
	return apierr.OK
}
