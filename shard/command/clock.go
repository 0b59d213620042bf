package command

// Advance advances a group's clock. Periods lists the current local budget periods of marketplaces; a period never goes
// back.
type Advance struct {
	Periods []Periods
}

// Periods are the numbers of the current budget periods of one marketplace, in its time zone.
type Periods struct {
	Marketplace uint16
	Day         uint32 // Days since 1970-01-01 of the local date.
	Week        uint32 // Monday-based weeks: (Day+3)/7.
	Month       uint32 // Year*12 + month.
}

var (
	advances = newTable("advance",
		fixed("periods", list(periods, unbounded), func(a *Advance) *[]Periods { return &a.Periods }),
	)
	periods = newTable("periods",
		fixed("marketplace", u16[uint16](), func(p *Periods) *uint16 { return &p.Marketplace }),
		fixed("day", u32[uint32](), func(p *Periods) *uint32 { return &p.Day }),
		fixed("week", u32[uint32](), func(p *Periods) *uint32 { return &p.Week }),
		fixed("month", u32[uint32](), func(p *Periods) *uint32 { return &p.Month }),
	)
)

// AppendNoop appends a command that only moves the state clock.
func AppendNoop(dst []byte, nowMillis int64) []byte {
	dst, at := begin(dst, OpNoop, nowMillis, 0)
	return seal(dst, at)
}

// AppendAdvance appends an Advance.
func AppendAdvance(dst []byte, nowMillis int64, a *Advance) []byte {
	return appendCommand(dst, OpAdvance, nowMillis, advances, a)
}

// ReadAdvance reads an Advance.
func ReadAdvance(c *Command) (Advance, error) { return readCommand(c, advances) }

// AppendPeriods appends p.
func AppendPeriods(dst []byte, p Periods) []byte { return periods.append(dst, &p) }

// Periods reads what AppendPeriods wrote into p. REQUIRES: *p is the zero value.
func (d *Decoder) Periods(p *Periods) { periods.read(d, p) }
