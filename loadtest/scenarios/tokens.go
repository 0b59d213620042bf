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

// Tokens is a pool of resolvedBidIds from real auctions, each of which is taken once. All tokens are in one slice of bytes, and their ends in
// another, so that the garbage collector has no pointers to follow while the clock runs. Take may be called by several goroutines.
type Tokens struct {
	mu    sync.Mutex // Guards text and ends while the pool is filled.
	text  []byte
	ends  []int
	taken atomic.Int64
}

// Len is the number of tokens fetched.
func (t *Tokens) Len() int { return len(t.ends) }

// Take takes the next n tokens and returns their positions [first, first+n). It returns false when fewer than n are left.
func (t *Tokens) Take(n int) (first int, ok bool) {
	first = int(t.taken.Add(int64(n))) - n
	return first, first+n <= len(t.ends)
}

// At returns the token at a position.
func (t *Tokens) At(i int) []byte {
	begin := 0
	if i > 0 {
		begin = t.ends[i-1]
	}
	return t.text[begin:t.ends[i]]
}

// add adds the tokens of one answer to the pool and returns how many it has now.
func (t *Tokens) add(answer []byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	eachToken(answer, func(token []byte) {
		t.text = append(t.text, token...)
		t.ends = append(t.ends, len(t.text))
	})
	return len(t.ends)
}

var tokenMember = []byte(`"resolvedBidId":"`)

// eachToken finds the tokens of an auction answer. They are URL-safe, so the next quote ends them. Package verify reads
// a part of the same answers with a JSON decoder.
func eachToken(answer []byte, yield func(token []byte)) {
	for {
		i := bytes.Index(answer, tokenMember)
		if i < 0 {
			return
		}
		answer = answer[i+len(tokenMember):]
		end := bytes.IndexByte(answer, '"')
		if end < 0 {
			return
		}
		yield(answer[:end])
		answer = answer[end:]
	}
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
	pool.ends = pool.ends[:min(n, len(pool.ends))]
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
