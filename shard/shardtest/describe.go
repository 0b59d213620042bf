package shardtest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// readers holds for each command its name and the function that reads it.
var readers = map[command.Op]struct {
	name string
	read func(*command.Command) (any, error)
}{
	command.OpNoop:           {"noop", func(*command.Command) (any, error) { return struct{}{}, nil }},
	command.OpAdvance:        {"advance", reader(command.ReadAdvance)},
	command.OpEvents:         {"events", reader(readEvents)},
	command.OpBootstrap:      {"bootstrap", reader(command.ReadBootstrap)},
	command.OpPutMarketplace: {"put marketplace", reader(command.ReadPutMarketplace)},
	command.OpPutRecords:     {"put records", reader(command.ReadPutRecords)},
	command.OpPutCategories:  {"put categories", reader(command.ReadPutCategories)},
	command.OpPutProducts:    {"put products", reader(command.ReadPutProducts)},
	command.OpDeleteCatalog:  {"delete catalog", reader(command.ReadDeleteCatalog)},
	command.OpAdjustWallet:   {"adjust wallet", reader(command.ReadAdjustWallet)},
	command.OpCreateCampaign: {"create campaign", reader(command.ReadCreateCampaign)},
	command.OpPatchCampaign:  {"patch campaign", reader(command.ReadPatchCampaign)},
	command.OpPutBids:        {"put bids", reader(command.ReadPutBids)},
	command.OpSetFeature:     {"set feature", reader(command.ReadSetFeature)},
	command.OpStageSegment:   {"stage segment", reader(command.ReadStageSegment)},
	command.OpCommitSegment:  {"commit segment", reader(command.ReadCommitSegment)},
	command.OpOpenAccount:    {"open account", reader(command.ReadOpenAccount)},
	command.OpTransfer:       {"transfer", reader(command.ReadTransfer)},
	command.OpForgetEmptied:  {"forget emptied", reader(command.ReadForgetEmptied)},
	command.OpPatchBid:       {"patch bid", reader(command.ReadPatchBid)},
	command.OpPatchProducts:  {"patch products", reader(command.ReadPatchProducts)},
	command.OpMarkVendors:    {"mark vendors", reader(command.ReadMarkVendors)},
	command.OpForgetNotices:  {"forget notices", reader(command.ReadForgetNotices)},
	command.OpPace:           {"pace", reader(command.ReadPace)},
	command.OpTraffic:        {"traffic", reader(command.ReadTraffic)},
	command.OpCountAuctions:  {"count auctions", reader(command.ReadCountAuctions)},
	command.OpDecideCredits:  {"decide credits", reader(command.ReadDecideCredits)},
	command.OpApplyCredits:   {"apply credits", reader(command.ReadApplyCredits)},
	command.OpCloseCredits:   {"close credits", reader(command.ReadCloseCredits)},
	command.OpApplyReturns:   {"apply returns", reader(command.ReadApplyReturns)},
	command.OpCloseReturns:   {"close returns", reader(command.ReadCloseReturns)},
	command.OpReverse:        {"reverse", reader(command.ReadReverse)},
	command.OpLinkUsers:      {"link users", reader(command.ReadLinkUsers)},
	command.OpForgetUser:     {"forget user", reader(command.ReadForgetUser)},
	command.OpWatchUsers:     {"watch users", reader(command.ReadWatchUsers)},
	command.OpForgetMarks:    {"forget marks", reader(command.ReadForgetMarks)},
	command.OpDefineSegment:  {"define segment", reader(command.ReadDefineSegment)},
	command.OpDecideMembers:  {"decide members", reader(command.ReadDecideMembers)},
	command.OpEnrolUsers:     {"enrol users", reader(command.ReadEnrolUsers)},
}

func reader[T any](read func(*command.Command) (T, error)) func(*command.Command) (any, error) {
	return func(c *command.Command) (any, error) { return read(c) }
}

func readEvents(c *command.Command) (e command.Events, err error) {
	err = command.ReadEvents(c, &e)
	return e, err
}

// Describe returns a command as a line of text: its name, level, time, attempt, notice and audit entry, and its members
// that are not zero.
func Describe(cmd []byte) (string, error) {
	c, err := command.Open(cmd)
	if err != nil {
		return "", err
	}
	r := readers[c.Op]
	if r.read == nil {
		return "", fmt.Errorf("shardtest: readers lacks operation %d", c.Op)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, level %d, at %d", r.name, c.Needs, c.NowMillis)
	x, err := r.read(&c)
	if err != nil { // The machine refuses it as Invalid.
		return b.String() + ", with an invalid body", nil //nolint:nilerr // The description says so.
	}
	if c.Attempted {
		fmt.Fprintf(&b, ", attempt %x of turn %d", c.Attempt.ID[:4], c.Attempt.Seen)
	}
	if c.Notice != nil {
		fmt.Fprintf(&b, ", notice %s of marketplace %d %q", c.Notice.ID, c.Notice.Marketplace, c.Notice.Value)
	}
	if c.Entry != nil {
		fmt.Fprintf(&b, ", audit entry %s of marketplace %d %q", c.Entry.ID, c.Entry.Marketplace, c.Entry.Value)
	}
	b.WriteString(":")
	describeMembers(&b, reflect.ValueOf(x), " ")
	return strings.TrimSuffix(b.String(), ":"), nil
}

// describeMembers writes the members of a struct that are not zero.
func describeMembers(b *strings.Builder, v reflect.Value, before string) {
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fmt.Fprintf(b, "%s%s=", before, v.Type().Field(i).Name)
			describe(b, f)
			before = " "
		}
	}
}

func describe(b *strings.Builder, v reflect.Value) {
	switch x := v.Interface().(type) {
	case ids.UUID:
		b.WriteString(x.String())
		return
	case []byte:
		fmt.Fprintf(b, "%q", x)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		describe(b, v.Elem())
	case reflect.Struct:
		b.WriteString("{")
		describeMembers(b, v, "")
		b.WriteString("}")
	case reflect.Slice:
		b.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(" ")
			}
			describe(b, v.Index(i))
		}
		b.WriteString("]")
	case reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			fmt.Fprintf(b, "%x", v.Interface())
			return
		}
		fmt.Fprint(b, v.Interface())
	case reflect.String:
		fmt.Fprintf(b, "%q", v.Interface())
	default:
		fmt.Fprint(b, v.Interface())
	}
}
