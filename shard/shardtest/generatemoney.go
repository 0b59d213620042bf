package shardtest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// walletID returns the id of one of the few further wallets of a vendor.
func (g *Generator) walletID(marketplace uint16, vendor string) ids.UUID {
	u := g.id('w', 10+g.choose(4, "which wallet"))
	u[1], u[2] = byte(marketplace), vendor[len(vendor)-1]
	u[15] = byte(ids.ShardOf(ids.AccountOf(marketplace, vendor)))
	return u
}

func (g *Generator) walletOf(marketplace uint16, vendor string) ids.UUID {
	if g.choose(2, "default wallet") == 0 {
		return ids.DefaultWalletOf(marketplace, vendor)
	}
	return g.walletID(marketplace, vendor)
}

func (g *Generator) account() Step {
	g.seq++
	a := command.OpenAccount{Request: g.id('o', g.seq), Marketplace: g.market(), Name: fmt.Sprint("a", g.choose(3, "account"))}
	switch g.choose(8, "kind of account") {
	case 0, 1, 2:
		a.Account, a.Currency = ids.LedgerAccountOf(a.Marketplace, a.Name), "EUR"
	case 3:
		a.VendorID = g.vendor()
		a.Account = ids.DefaultWalletOf(a.Marketplace, a.VendorID)
	default:
		a.VendorID = g.vendor()
		a.Account = g.walletID(a.Marketplace, a.VendorID)
	}
	if len(g.named) > 0 && g.choose(4, "repeat an opening") == 0 {
		a = g.named[g.choose(len(g.named), "which opening")]
	}
	g.named = append(g.named, a)
	before := len(g.Model.Wallets)
	s := Step{Name: "account", Command: command.AppendOpenAccount(nil, g.now, &a), Result: g.Model.Open(&a)}
	return g.audit(s, a.Marketplace, len(g.Model.Wallets) > before)
}

// MoneyStep returns a command that moves money or makes that possible. A Generator that makes only such commands, at
// the newest level, makes far more transfers than one that makes all commands.
func (g *Generator) MoneyStep() Step {
	g.tick()
	kinds := []func() Step{
		g.transfer, g.transfer, g.transfer, g.transfer, g.adjust, g.adjust, g.account, g.account, g.create, g.events, g.events, g.patch,
		g.forget, g.marketplace, g.advance, g.pace,
		g.forget, g.marketplace, g.advance, g.traffic, g.credits, g.credits, g.credits, g.returns, g.returns, g.reverse, g.reverse,
	}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}

// ReturnStep returns a command that buys, charges, returns or reverses, or makes that possible.
func (g *Generator) ReturnStep() Step {
	g.tick()
	kinds := []func() Step{
		g.events, g.events, g.events, g.events, g.adjust, g.create, g.advance, g.credits, g.credits, g.credits, g.returns, g.returns,
		g.reverse, g.reverse, g.patch,
	}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}

// Newest returns a command that raises the feature level to the newest.
func (g *Generator) Newest() Step {
	g.tick()
	x := command.SetFeature{Level: command.LevelNewest}
	return Step{Name: "newest", Command: command.AppendSetFeature(nil, g.now, x), Result: g.Model.Feature(x.Level)}
}

// anyAccount returns the id of an account, usually of an existing one.
func (g *Generator) anyAccount(marketplace uint16) ids.UUID {
	if g.choose(4, "unknown account") > 0 {
		var known []ids.UUID
		for id, w := range g.Model.Wallets {
			if w.Marketplace == marketplace {
				known = append(known, id)
			}
		}
		if len(known) > 0 {
			slices.SortFunc(known, func(a, b ids.UUID) int { return bytes.Compare(a[:], b[:]) })
			return known[g.choose(len(known), "known account")]
		}
	}
	if g.choose(3, "ledger account") == 0 {
		return ids.LedgerAccountOf(marketplace, fmt.Sprint("a", g.choose(3, "account")))
	}
	return g.walletOf(marketplace, g.vendor())
}

// transfer returns a step of a transfer: a new step, a repeated one, or another step of an earlier transfer.
func (g *Generator) transfer() Step {
	g.seq++
	x := command.Transfer{
		ID: g.id('t', g.seq), Marketplace: g.market(), Amount: g.amount("transfer"), Description: fmt.Sprint("why ", g.choose(3, "description")),
	}
	x.From, x.To = g.anyAccount(x.Marketplace), g.anyAccount(x.Marketplace)
	elsewhere := g.id('x', 1+g.choose(2, "elsewhere"))
	switch n := g.choose(6, "step"); {
	case n == 0 && !g.Alone:
		x.Step, x.To = command.TransferSend, elsewhere
	case n == 1 && !g.Alone:
		x.Step, x.From, x.Millis = command.TransferReceive, elsewhere, g.now
	default:
		if x.From == x.To {
			x.To = ids.LedgerAccountOf(x.Marketplace, "other")
		}
	}
	if len(g.moved) > 0 && g.choose(2, "go on with a transfer") == 0 {
		x = g.moved[max(0, len(g.moved)-1-g.choose(5, "which transfer"))]
		switch g.choose(5, "with what") {
		case 0:
			x.Step = command.TransferComplete
		case 1:
			x.Step = command.TransferReturn
		case 2:
			x.Amount++ // Another transfer under the same id.
		}
	}
	g.moved = append(g.moved, x)
	before := len(g.Model.Lines)
	s := Step{Name: "transfer", Command: command.AppendTransfer(nil, g.now, &x), Result: g.Model.Transfer(&x)}
	if x.Step == command.TransferComplete { // It changes no account, so the lines do not tell it from its repeat.
		return s
	}
	return g.audit(s, x.Marketplace, len(g.Model.Lines) > before)
}

func (g *Generator) forget() Step {
	f := command.ForgetEmptied{Marketplace: g.market(), Number: uint32(1 + g.choose(2, "number"))} // A handful.
	f.Wallet = g.walletOf(f.Marketplace, g.vendor())
	return Step{Name: "forget", Command: command.AppendForgetEmptied(nil, g.now, &f), Result: g.Model.Forget(&f)}
}
