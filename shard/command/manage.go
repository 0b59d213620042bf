package command

import (
	"encoding/binary"
	"math"

	"github.com/gavel-ads/gavel/shard/market"
)

// AppendNoop appends a command that only moves the state clock.
func AppendNoop(dst []byte, nowMillis int64) []byte {
	dst, at := begin(dst, OpNoop, nowMillis, 0)
	return seal(dst, at)
}

// AppendAdvance appends an Advance.
func AppendAdvance(dst []byte, nowMillis int64, a *Advance) []byte {
	dst, at := begin(dst, OpAdvance, nowMillis, len(a.Periods))
	for _, p := range a.Periods {
		dst = AppendPeriods(dst, p)
	}
	return seal(dst, at)
}

// ReadAdvance reads an Advance.
func ReadAdvance(c *Command) (a Advance, err error) {
	d := NewDecoder(c.body)
	for range c.list(&d, 14) {
		a.Periods = append(a.Periods, d.Periods())
	}
	return a, d.Err()
}

// AppendPeriods appends p.
func AppendPeriods(dst []byte, p Periods) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, p.Marketplace)
	dst = binary.LittleEndian.AppendUint32(dst, p.Day)
	dst = binary.LittleEndian.AppendUint32(dst, p.Week)
	return binary.LittleEndian.AppendUint32(dst, p.Month)
}

// Periods reads what AppendPeriods wrote.
func (d *Decoder) Periods() Periods {
	return Periods{Marketplace: d.U16(), Day: d.U32(), Week: d.U32(), Month: d.U32()}
}

// AppendBootstrap appends a Bootstrap.
func AppendBootstrap(dst []byte, nowMillis int64, b *Bootstrap) []byte {
	dst, at := begin(dst, OpBootstrap, nowMillis, len(b.Keys))
	dst = AppendMarketplace(dst, &b.Marketplace)
	dst = AppendSecrets(dst, &b.Secrets)
	for i := range b.Keys {
		dst = appendRecord(dst, &b.Keys[i])
	}
	return seal(dst, at)
}

// ReadBootstrap reads a Bootstrap.
func ReadBootstrap(c *Command) (b Bootstrap, err error) {
	d := c.decoder()
	b.Marketplace = d.Marketplace()
	b.Secrets = d.Secrets()
	for range c.list(&d, recordMinLen) {
		b.Keys = append(b.Keys, d.record())
	}
	return b, d.Err()
}

// AppendPutMarketplace appends a PutMarketplace: the settings of one marketplace, replaced as a whole.
func AppendPutMarketplace(dst []byte, nowMillis int64, m *market.Marketplace) []byte {
	dst, at := begin(dst, OpPutMarketplace, nowMillis, 0)
	return sealMore(AppendMarketplace(dst, m), at, marketplaceMore(m) != 0)
}

// ReadPutMarketplace reads a PutMarketplace.
func ReadPutMarketplace(c *Command) (p PutMarketplace, err error) {
	d := c.decoder()
	if c.Version >= settingsVersion {
		if p.Expect = d.U64(); p.Expect == 0 {
			d.Fail()
		}
	}
	p.Marketplace = d.Marketplace()
	return p, d.Err()
}

// AppendPutRecords appends a PutRecords.
func AppendPutRecords(dst []byte, nowMillis int64, p *PutRecords) []byte {
	dst, at := begin(dst, OpPutRecords, nowMillis, len(p.Records))
	for i := range p.Records {
		dst = appendRecord(dst, &p.Records[i])
	}
	return seal(dst, at)
}

// ReadPutRecords reads a PutRecords.
func ReadPutRecords(c *Command) (p PutRecords, err error) {
	d := NewDecoder(c.body)
	for range c.list(&d, recordMinLen) {
		p.Records = append(p.Records, d.record())
	}
	return p, d.Err()
}

func appendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, byte(r.Kind))
	dst = binary.LittleEndian.AppendUint16(dst, r.Marketplace)
	dst = AppendText(dst, r.ID)
	dst = AppendBool(dst, r.Value != nil)
	dst = AppendBytes(dst, r.Value)
	dst = binary.LittleEndian.AppendUint64(dst, r.Expect)
	dst = AppendBool(dst, r.NotLast)
	dst = AppendText(dst, r.Class)
	dst = binary.LittleEndian.AppendUint32(dst, clampU32(r.Max))
	return binary.LittleEndian.AppendUint64(dst, uint64(r.ExpiresMillis)) // Read back the same way.
}

func (d *Decoder) record() (r Record) {
	r.Kind = RecordKind(d.U8())
	r.Marketplace = d.U16()
	r.ID = d.Text()
	live := d.Bool()
	r.Value = d.Copy()
	if live && r.Value == nil {
		r.Value = []byte{}
	}
	r.Expect = d.U64()
	r.NotLast = d.Bool()
	r.Class = d.Text()
	r.Max = int(min(d.U32(), math.MaxInt32))
	r.ExpiresMillis = d.I64()
	if !live && len(r.Value) > 0 || len(r.ID) == 0 || len(r.ID) > RecordIDMax || len(r.Class) > 255 {
		d.Fail()
	}
	return r
}

// AppendPutCategories appends a PutCategories.
func AppendPutCategories(dst []byte, nowMillis int64, p *PutCategories) []byte {
	dst, at := begin(dst, OpPutCategories, nowMillis, len(p.Categories))
	dst = binary.LittleEndian.AppendUint16(dst, p.Marketplace)
	for i := range p.Categories {
		dst = AppendCategory(dst, &p.Categories[i])
	}
	return seal(dst, at)
}

// ReadPutCategories reads a PutCategories.
func ReadPutCategories(c *Command) (p PutCategories, err error) {
	d := NewDecoder(c.body)
	p.Marketplace = d.U16()
	for range c.list(&d, categoryMinLen) {
		p.Categories = append(p.Categories, d.Category())
	}
	return p, d.Err()
}

// AppendPutProducts appends a PutProducts.
func AppendPutProducts(dst []byte, nowMillis int64, p *PutProducts) []byte {
	dst, at := begin(dst, OpPutProducts, nowMillis, len(p.Products))
	dst = binary.LittleEndian.AppendUint16(dst, p.Marketplace)
	more := false
	for i := range p.Products {
		dst = AppendProduct(dst, &p.Products[i])
		more = more || productMore(&p.Products[i]) != 0
	}
	return sealMore(dst, at, more)
}

// ReadPutProducts reads a PutProducts.
func ReadPutProducts(c *Command) (p PutProducts, err error) {
	d := c.decoder()
	p.Marketplace = d.U16()
	for range c.list(&d, productMinLen) {
		p.Products = append(p.Products, d.Product())
	}
	return p, d.Err()
}

// AppendDeleteCatalog appends a DeleteCatalog.
func AppendDeleteCatalog(dst []byte, nowMillis int64, x *DeleteCatalog) []byte {
	dst, at := begin(dst, OpDeleteCatalog, nowMillis, len(x.Products)+len(x.Categories))
	dst = binary.LittleEndian.AppendUint16(dst, x.Marketplace)
	dst = appendTexts(dst, x.Products)
	return seal(appendTexts(dst, x.Categories), at)
}

// ReadDeleteCatalog reads a DeleteCatalog.
func ReadDeleteCatalog(c *Command) (x DeleteCatalog, err error) {
	d := NewDecoder(c.body)
	x = DeleteCatalog{Marketplace: d.U16(), Products: d.Texts(), Categories: d.Texts()}
	return x, d.Err()
}
