package statedb

import "sync"

// Ahead is a Reader for the long scan with which a state machine builds its memory: a goroutine reads and decompresses
// records while the caller works on those before them, so that a start uses two processors. It copies each record once.
type Ahead struct{ *Reader }

// Ahead returns a reader of the current state.
func (g *Group) Ahead() Ahead { return Ahead{g.Reader()} }

const (
	pieceBytes = 128 << 10 // A piece is handed over when it has so many bytes: about a thousand records.
	piecesMax  = 4         // BOUND: the pieces of a scan, which hold pieceBytes and one record each.
)

// piece is a sequence of records that goes from the goroutine that reads to the one that scans.
type piece struct {
	bytes   []byte // Keys and values, one after the other.
	records []recordLen
}

type recordLen struct{ key, value int }

func (p *piece) add(key, value []byte) {
	p.bytes = append(append(p.bytes, key...), value...)
	p.records = append(p.records, recordLen{len(key), len(value)})
}

func (p *piece) reset() { p.bytes, p.records = p.bytes[:0], p.records[:0] }

// each calls fn for the records until it returns false, and reports whether it never did.
func (p *piece) each(fn func(key, value []byte) bool) bool {
	at := 0
	for _, l := range p.records {
		value := at + l.key
		end := value + l.value
		if !fn(p.bytes[at:value:value], p.bytes[value:end:end]) {
			return false
		}
		at = end
	}
	return true
}

// Scan is Reader.Scan. A read that fails ends the process after fn had the records before it. It returns when the
// goroutine has ended.
func (a Ahead) Scan(from, to []byte, fn func(key, value []byte) bool) {
	low, high := a.fullRange(from, to)
	s := scan{full: make(chan *piece, piecesMax), empty: make(chan *piece, piecesMax), stop: make(chan struct{})}
	for range piecesMax {
		s.empty <- new(piece)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(s.full)
		s.err = s.read(a.Reader, low, high)
	})
	defer reading.Wait()
	defer close(s.stop)
	for p := range s.full {
		if !p.each(fn) {
			return
		}
		p.reset()
		s.empty <- p
	}
	a.group.db.mustRead(s.err)
}

// scan is one running Ahead.Scan.
type scan struct {
	full, empty chan *piece   // INVARIANT: neither is ever full when a piece is sent, because both have room for all pieces.
	stop        chan struct{} // Closed when the caller takes no more records.
	err         error         // What ended the reading; written before full is closed.
}

// read fills pieces with the records of a range until its end or until the caller stops.
func (s *scan) read(r *Reader, low, high []byte) error {
	p := <-s.empty
	err := r.each(low, high, func(key, value []byte) bool {
		p.add(key, value)
		if len(p.bytes) < pieceBytes {
			return true
		}
		s.full <- p
		select {
		case p = <-s.empty:
			return true
		case <-s.stop:
			p = new(piece) // The one before is the caller's.
			return false
		}
	})
	s.full <- p
	return err
}
