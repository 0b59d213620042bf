package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// Tokens is a pool of resolvedBidIds from real auctions, each of which is taken once, with the products that they won for. All texts are in
// slices of bytes, and their ends in others, so that the garbage collector has no pointers to follow while the clock runs. Take may be called
// by several goroutines.
type Tokens struct {
	mu             sync.Mutex // Guards the texts while the pool is filled.
	text, products texts
	taken          atomic.Int64
}

// texts is a list of texts without a pointer for each.
type texts struct {
	all  []byte
	ends []int
}

func (t *texts) len() int { return len(t.ends) }

func (t *texts) reset() { t.all, t.ends = t.all[:0], t.ends[:0] }

func (t *texts) add(text []byte) {
	t.all = append(t.all, text...)
	t.ends = append(t.ends, len(t.all))
}

func (t *texts) at(i int) []byte {
	begin := 0
	if i > 0 {
		begin = t.ends[i-1]
	}
	return t.all[begin:t.ends[i]]
}

// Len is the number of tokens fetched.
func (t *Tokens) Len() int { return t.text.len() }

// Take takes the next n tokens and returns their positions [first, first+n). It returns false when fewer than n are left.
func (t *Tokens) Take(n int) (first int, ok bool) {
	first = int(t.taken.Add(int64(n))) - n
	return first, first+n <= t.Len()
}

// At returns the token at a position.
func (t *Tokens) At(i int) []byte { return t.text.at(i) }

// ProductAt returns what the token at a position won for.
func (t *Tokens) ProductAt(i int) []byte { return t.products.at(i) }

// add adds the tokens of one answer to the pool and returns how many it has now.
func (t *Tokens) add(answer []byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	eachWinner(answer, func(product, token []byte) {
		t.products.add(product)
		t.text.add(token)
	})
	return t.Len()
}

var (
	tokenMember   = []byte(`"resolvedBidId":"`)
	productMember = []byte(`"id":"`)
)

// eachToken finds the tokens of an auction answer.
func eachToken(answer []byte, yield func(token []byte)) {
	eachWinner(answer, func(_, token []byte) { yield(token) })
}

// eachWinner finds the tokens of an auction answer, and what each won for: the id that stands before it. Tokens and the ids of the market are
// without escapes, so the next quote ends them. Package verify reads a part of the same answers with a JSON decoder.
func eachWinner(answer []byte, yield func(product, token []byte)) {
	for {
		i := bytes.Index(answer, tokenMember)
		if i < 0 {
			return
		}
		before := answer[:i]
		answer = answer[i+len(tokenMember):]
		end := bytes.IndexByte(answer, '"')
		if end < 0 {
			return
		}
		yield(productOf(before), answer[:end])
		answer = answer[end:]
	}
}

// productOf returns the last id of a part of an answer.
func productOf(before []byte) []byte {
	i := bytes.LastIndex(before, productMember)
	if i < 0 {
		return nil
	}
	id, _, _ := bytes.Cut(before[i+len(productMember):], []byte{'"'})
	return id
}

const (
	fetchers = 4
	// emptyAnswersMax is how many requests in a row without any winner end the fetching with an error: no campaign competes then.
	emptyAnswersMax = 200
)

// fetchTokens runs auctions of the largest shape, 5 auctions of up to 40 winners, until there are n tokens, and returns exactly those.
func fetchTokens(ctx context.Context, env *Env, n int) (*Tokens, error) {
	pool := &Tokens{}
	if len(env.Products) == 0 {
		return nil, errors.New("a market without products has no tokens")
	}
	failures := make([]error, fetchers)
	var group sync.WaitGroup
	for i := range fetchers {
		group.Go(func() { failures[i] = pool.fetch(ctx, env, uint64(i), n) })
	}
	group.Wait()
	// The fetchers may get more than n tokens together; a pool of exactly n makes runs comparable.
	pool.text.ends = pool.text.ends[:min(n, pool.Len())]
	return pool, errors.Join(failures...)
}

func (t *Tokens) fetch(ctx context.Context, env *Env, stream uint64, n int) error {
	c, err := env.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	gen := traffic.NewAuctions(env.Products, env.Seed, 1_000+stream)
	var body []byte
	for fruitless, had := 0, -1; fruitless < emptyAnswersMax; {
		if err := ctx.Err(); err != nil {
			return err
		}
		body = gen.Append(body[:0], 5, 60, 40)
		status, answer, err := c.Post(AuctionsPath, body)
		if err != nil {
			return fmt.Errorf("fetching tokens: %w", err)
		}
		if status != http.StatusCreated {
			return fmt.Errorf("fetching tokens: %d %.300s", status, answer)
		}
		have := t.add(answer)
		if have >= n {
			return nil
		}
		if fruitless++; have > had {
			fruitless = 0
		}
		had = have
	}
	return fmt.Errorf("fetching tokens: %d auctions in a row without a winner; %d tokens of %d", emptyAnswersMax*5, t.Len(), n)
}
