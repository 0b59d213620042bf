package rollup

import "testing"

func TestAuctionsReadBack(t *testing.T) {
	all := Auctions{Won: 1 << 40}
	for reason := range all.Lost {
		all.Lost[reason] = int64(reason) << 30
	}
	for _, want := range []Auctions{{}, {Won: 3}, {Lost: [LossReasonsMax]int64{0: 2, 14: 5}}, all} {
		var got Auctions
		got.Lost[7] = 99
		if err := got.Decode(want.AppendTo(nil)); err != nil || got != want {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
	for _, damaged := range [][]byte{{}, {0x80}, {1, 3}, {1, LossReasonsMax, 1}, {1, 3, 0x80}} {
		if new(Auctions).Decode(damaged) == nil {
			t.Errorf("% x was read", damaged)
		}
	}
	sum := all
	sum.Add(&Auctions{Won: 1, Lost: [LossReasonsMax]int64{0: 1, 1: 2, 20: 3}})
	if sum.Won != all.Won+1 || sum.LostTotal() != all.LostTotal()+5 || sum.Lost[0] != 1 {
		t.Errorf("the sum is %+v", sum)
	}
}
