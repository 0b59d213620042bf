package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/gavel-ads/gavel/shard/document"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// limits holds the number of values of each enumeration.
var limits = map[reflect.Type]int{
	reflect.TypeFor[model.AdFormat]():    model.AdFormats,
	reflect.TypeFor[model.ChargeType]():  model.ChargeTypes,
	reflect.TypeFor[model.PriceRule]():   int(model.FirstPrice) + 1,
	reflect.TypeFor[model.Period]():      int(model.Total) + 1,
	reflect.TypeFor[model.Status]():      int(model.Terminated) + 1,
	reflect.TypeFor[model.Pacing]():      int(model.PacingEven) + 1,
	reflect.TypeFor[model.Attribution](): model.Attributions,
	reflect.TypeFor[model.TriggerKind](): model.TriggerKinds,
	reflect.TypeFor[model.TargetType]():  model.TargetTypes,
	reflect.TypeFor[model.Device]():      model.Devices,
	reflect.TypeFor[event.Kind]():        event.Kinds,
	reflect.TypeFor[event.EntityType]():  int(event.URLEntity) + 1,
	reflect.TypeFor[TransferStep]():      int(transferSteps),
	reflect.TypeFor[SegmentAction]():     int(segmentActions),
	reflect.TypeFor[pacing.Status]():     pacing.Statuses,
	reflect.TypeFor[Level]():             int(LevelNewest) + 1,
}

// randomize sets a value and everything in it to random values that a command may have: about half of the members are
// zero, slices and texts are short, and empty slices are nil.
func randomize(random *rand.Rand, v reflect.Value) {
	if random.IntN(2) == 0 && v.Kind() != reflect.Struct {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *money.Micros:
		*x = money.Micros(random.Int64N(int64(money.MaxMicros) + 1))
		return
	case *[]uint16:
		*x = make([]uint16, model.ScheduleHours)
		for i := range *x {
			(*x)[i] = uint16(random.IntN(model.ScheduleMax + 1))
		}
		return
	case *Members:
		*x = Members(random.Uint64()) & campaignPatches.known
		return
	case *model.Trigger:
		*x = model.Trigger{Kind: model.TriggerKind(random.IntN(model.TriggerKinds)), Value: fmt.Sprint("t", random.IntN(1_000))}
		if x.Kind.IsKeyword() {
			randomize(random, reflect.ValueOf(&x.Words).Elem())
		}
		return
	case *model.Cap:
		*x = model.Cap{Type: uint8(1 + random.IntN(model.RestrictionTypes)), Limit: random.Uint32()}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := random.Uint64()
		if limit := limits[v.Type()]; limit > 0 {
			n %= uint64(limit)
		}
		v.SetUint(n & (1<<v.Type().Bits() - 1))
	case reflect.Int:
		v.SetInt(int64(random.Int32()))
	case reflect.Int32:
		v.SetInt(int64(int32(random.Uint32()))) // Two's complement.
	case reflect.Int64:
		v.SetInt(random.Int64() - random.Int64())
	case reflect.String:
		v.SetString(fmt.Sprint("ä", random.IntN(1_000)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		randomize(random, v.Elem())
	case reflect.Slice:
		n := 1 + random.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			randomize(random, v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			randomize(random, field)
		}
	default:
		panic("no random values of " + v.Type().String())
	}
}

// randomOf returns a random value of a type that satisfies the rules about several members.
func randomOf[T any](random *rand.Rand) T {
	var v T
	randomize(random, reflect.ValueOf(&v).Elem())
	switch x := any(&v).(type) {
	case *PatchCampaign:
		if x.Expect.Members == 0 {
			x.Expect.Version = 0
		}
	case *PatchBid:
		x.Delete = x.Delete || bidPatches.of(x) == 0
	case *PatchProducts:
		for i := range x.Products {
			for j := range x.Products[i].Document {
				x.Products[i].Document[j] = document.Member{Name: fmt.Sprint("m", j), Value: []byte("1")}
			}
		}
	case *AdjustWallet:
		x.Amount += 1 - x.Amount%2
		if len(x.Others) > 0 {
			x.Strict, x.Amount = true, -max(x.Amount, -x.Amount)
		}
	case *Transfer:
		x.ID[0], x.From[0], x.To[0] = 1, 2, 3
		x.Amount += 1 - x.Amount%2
	case *Traffic:
		x.Hour %= pacing.HoursOfWeek
		x.Minutes = x.Minutes%TrafficMinutesMax + 1
		for i := range x.Auctions {
			x.Auctions[i] %= TrafficMax + 1
		}
	case *CountAuctions:
		for i := range x.Campaigns {
			c := &x.Campaigns[i]
			c.Won %= AuctionsMax + 1
			for j := range c.Lost {
				c.Lost[j].Reason, c.Lost[j].Auctions = c.Lost[j].Reason%rollup.LossReasonsMax, c.Lost[j].Auctions%(AuctionsMax+1)
			}
		}
	case *PutMarketplace:
		x.Marketplace.LearnedQualityMilli %= learn.ExponentOne + 1
		x.Marketplace.Attribution %= model.Attribution(model.Attributions)
		x.Marketplace.EventDays %= model.EventDaysMax + 1
		e := &x.Marketplace.Experiment
		e.Percent, e.Treatment = e.Percent%(model.ExperimentPercentMax+1), e.Treatment%model.Treatment(model.Treatments)
		e.ValueMilli %= model.ExperimentReserveMax + 1
		for i := range x.Marketplace.TrafficDates {
			x.Marketplace.TrafficDates[i].FactorMilli %= model.TrafficFactorMax + 1
		}
	case *PutRecords:
		validRecords(x.Records)
	case *Pace:
		for i := range x.Campaigns {
			x.Campaigns[i].Campaign, x.Campaigns[i].Word = uint32(i+1), x.Campaigns[i].Word&^(1<<32-1)|pacing.Unshaded
		}
	case *DecideCredits:
		for i := range x.Decisions {
			validCredits(x.Decisions[i].Credits)
			for j := range x.Decisions[i].Credits {
				x.Decisions[i].Credits[j].Purchase = x.Decisions[i].Purchase
			}
		}
	case *ApplyCredits:
		validCredits(x.Credits)
	case *OpenCredit:
		for i := range x.Items {
			x.Items[i].Quantity &= math.MaxInt64
		}
		validCredits(x.Credits)
	case *Purchase:
		for i := range x.Items {
			item := &x.Items[i]
			item.Quantity &= math.MaxInt64
			item.Returned = item.Returned & math.MaxInt64 % (item.Quantity + 1)
		}
	case *ApplyReturns:
		for i := range x.Returns {
			r := &x.Returns[i]
			r.Item, r.Quantity = uint16(i), r.Quantity&math.MaxInt32+1
		}
	case *CloseReturns:
		for i := range x.Purchases {
			x.Purchases[i].Quantity &= math.MaxInt64
		}
	case *Reverse:
		validReverse(x)
	case *WatchUsers:
		x.Was, x.Kinds = x.Was%8, x.Kinds%8
	case *ForgetMarks:
		for i := range x.Marks {
			x.Marks[i].Millis &= math.MaxInt64
		}
	case *DecideMembers:
		x.AsOfMillis &= math.MaxInt64
		for i := range x.Members {
			m := &x.Members[i]
			m.User, m.ChangesMillis = uint64(i), m.ChangesMillis&math.MaxInt64
		}
	case *Bootstrap:
		validRecords(x.Keys)
		x.Marketplace.LearnedQualityMilli, x.Marketplace.TrafficDates, x.Marketplace.Attribution = 0, nil, 0
		x.Marketplace.Experiment, x.Marketplace.EventDays = model.Experiment{}, 0
	}
	return v
}

func validCredits(all []Credit) {
	for i := range all {
		c := &all[i]
		c.Item, c.Kind, c.Quantity = uint16(i), c.Kind%(event.Click+1), c.Quantity&math.MaxInt32+1
		if !c.Place.Valid() {
			c.Place = 0
		}
		c.Attribution %= model.Attribution(model.Attributions)
	}
}

func validReverse(x *Reverse) {
	x.ID[0], x.Reason = 1, x.Reason%Reason(Reasons)
	if x.Line != 0 {
		x.Wallet[0], x.Charged = 1, x.Charged|1
		x.Parts = x.Parts[:min(1, len(x.Parts))]
	} else {
		x.Wallet, x.Charged = ids.UUID{}, 0
	}
	if len(x.Parts) == 0 {
		x.Parts = make([]ReversalPart, 1)
	}
	for i := range x.Parts {
		p := &x.Parts[i]
		p.Cell, p.Kind, p.Amount = uint32(i), p.Kind%(event.Purchase+1), p.Amount%1_000+1
		if p.Kind != event.Purchase {
			p.Product = ""
		}
	}
}

func validRecords(all []Record) {
	for i := range all {
		all[i].ID += "k"
	}
}
