package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// referenceFault is the environment variable that makes this test binary a reference server; its value is the fault to
// plant, or "none".
const referenceFault = "REFERENCE_SERVER_FAULT"

// referenceServer implements the rules that the crash test checks, in as few lines as possible, in a real process with
// a real file. Its log has a line per request that changes something, and a start rebuilds its state from the log. With
// a planted fault it shows that the crash test finds the fault.
type referenceServer struct {
	fault string

	mu        sync.Mutex
	log       *bufio.Writer
	tokens    int
	started   int64
	campaigns []*referenceCampaign
	wallets   map[string]int64 // In ten-thousandths of a minor unit, like all amounts here.
	deposits  map[string]bool
	seen      map[string]bool // By array/id.
	charged   map[string]bool // By token.
}

type referenceCampaign struct {
	vendor       string
	amount       int64 // Per charge.
	second       bool
	onImpression bool
	budget       int64 // 0: no budget.
	products     []string
	total        [kinds]int64
	count, spent int64
}

// runReferenceServer serves until it is killed.
func runReferenceServer(fault string) {
	flags := map[string]string{}
	for i := 2; i+1 < len(os.Args); i += 2 {
		flags[os.Args[i]] = os.Args[i+1]
	}
	must(os.MkdirAll(flags["--data-dir"], 0o700))
	path := filepath.Join(flags["--data-dir"], "log")
	old, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		must(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(err)
	// SIGKILL may leave an incomplete line. The next line must not continue it.
	must(file.Truncate(int64(bytes.LastIndexByte(old, '\n') + 1)))
	n := &referenceServer{
		fault: fault, log: bufio.NewWriterSize(file, 1<<20), started: time.Now().UnixNano(), wallets: map[string]int64{},
		deposits: map[string]bool{}, seen: map[string]bool{}, charged: map[string]bool{},
	}
	for line := range strings.Lines(string(old)) {
		if key, body, whole := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); whole && strings.HasSuffix(line, "\n") {
			n.apply(key, []byte(body))
		}
	}
	if fault == "forgets ids at restart" {
		clear(n.seen)
	}
	must(os.WriteFile(flags["--keys-file"], []byte(`{"auctionKey":"a","managementKey":"m"}`), 0o600))
	go func() { must(http.ListenAndServe(flags["--manage-listen"], n)) }()
	must(http.ListenAndServe(flags["--auction-listen"], n))
}

// must ends the server; the process that started it sees the error in its output.
func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (n *referenceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/public/v1") + "?" + r.URL.Query().Get("vendor_id")
	var answer []byte
	status := http.StatusOK
	switch {
	case key == "POST /v2/auctions?":
		answer, status = n.auction(body), http.StatusCreated
	case r.Method == http.MethodGet:
		answer = n.read(r.URL)
	default:
		_, _ = fmt.Fprintf(n.log, "%s\t%s\n", key+r.Header.Get("Idempotency-Key"), body)
		// With the fault, events wait for the next change of another kind or a full buffer. No timer writes them: a kill that
		// came just after it had would find nothing to lose.
		if n.fault != "acknowledges early" || !strings.HasPrefix(key, "POST /v2/events") {
			must(n.log.Flush())
		}
		answer = n.apply(key+r.Header.Get("Idempotency-Key"), body)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (n *referenceServer) auction(body []byte) []byte {
	var req struct {
		Auctions []struct{ Products struct{ IDs []string } }
	}
	if err := json.Unmarshal(body, &req); err != nil {
		log.Fatal(err)
	}
	var results []string
	for _, a := range req.Auctions {
		var winners []string
		for _, p := range a.Products.IDs {
			best, price := n.best(p)
			if best < 0 {
				continue
			}
			n.tokens++
			winners = append(winners, fmt.Sprintf(`{"id":%q,"resolvedBidId":"%d.%d.%d.%d","campaignId":"c%d"}`, p, best, price, n.started, n.tokens, best))
		}
		results = append(results, fmt.Sprintf(`{"winners":[%s]}`, strings.Join(winners, ",")))
	}
	return []byte(`{"results":[` + strings.Join(results, ",") + `]}`)
}

// best returns the campaign that wins a product, -1 when none has money left, and its price.
func (n *referenceServer) best(product string) (index int, price int64) {
	index = -1
	var runnerUp int64
	for i, c := range n.campaigns {
		broke := n.wallets[c.vendor] <= 0 || c.budget > 0 && c.spent >= c.budget
		if !strings.Contains(" "+strings.Join(c.products, " ")+" ", " "+product+" ") || broke {
			continue
		}
		if index < 0 || c.amount > n.campaigns[index].amount {
			if index >= 0 {
				runnerUp = n.campaigns[index].amount
			}
			index = i
		} else {
			runnerUp = max(runnerUp, c.amount)
		}
	}
	if index < 0 {
		return index, 0
	}
	if price = n.campaigns[index].amount; n.campaigns[index].second && runnerUp > 0 {
		price = runnerUp
	}
	return index, price
}

// apply makes one change. Replay runs only this.
func (n *referenceServer) apply(key string, body []byte) []byte {
	path, rest, _ := strings.Cut(key, "?")
	switch {
	case path == "POST /v2/events":
		return n.events(body)
	case path == "POST /campaign-service/campaigns":
		return n.create(strings.TrimSuffix(rest, rest[strings.LastIndex(rest, "campaign-"):]), body)
	case strings.HasSuffix(path, "/balance"):
		var d struct{ Balance json.Number }
		if err := json.Unmarshal(body, &d); err != nil {
			log.Fatal(err)
		}
		whole, cents, _ := strings.Cut(d.Balance.String(), ".")
		var amount int64
		if _, err := fmt.Sscan(whole+cents, &amount); err != nil {
			log.Fatal(err)
		}
		if !n.deposits[key] {
			n.deposits[key] = true
			n.wallets[strings.Split(path, "/")[3]] += amount * 10_000
		}
	}
	return []byte("{}")
}

func (n *referenceServer) create(vendor string, body []byte) []byte {
	var req struct {
		ChargeType, PriceRule string
		Budget                struct{ Amount int64 }
		Bids                  []struct {
			Target struct{ ID string }
			Amount int64
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		log.Fatal(err)
	}
	c := &referenceCampaign{vendor: vendor, amount: req.Bids[0].Amount * 10_000, second: req.PriceRule == "second", budget: req.Budget.Amount * 10_000}
	if c.onImpression = req.ChargeType == "CPM"; c.onImpression {
		c.amount /= 1_000
	}
	for _, b := range req.Bids {
		c.products = append(c.products, b.Target.ID)
	}
	n.campaigns = append(n.campaigns, c)
	return fmt.Appendf(nil, `{"campaignId":"c%d"}`, len(n.campaigns)-1)
}

func (n *referenceServer) events(body []byte) []byte {
	var req map[string][]struct{ ID, ResolvedBidID string }
	if err := json.Unmarshal(body, &req); err != nil {
		log.Fatal(err)
	}
	detail := map[string][]map[string]string{}
	for k, name := range kindNames {
		for _, e := range req[name] {
			status := "duplicate"
			if !n.seen[name+e.ID] || n.fault == "counts repeats" {
				status = "recorded"
				n.record(kind(k), e.ResolvedBidID)
			}
			n.seen[name+e.ID] = true
			detail[name] = append(detail[name], map[string]string{"id": e.ID, "status": status})
		}
	}
	answer, err := json.Marshal(detail)
	if err != nil {
		log.Fatal(err)
	}
	return answer
}

func (n *referenceServer) record(k kind, token string) {
	var index int
	var price int64
	if _, err := fmt.Sscanf(token, "%d.%d.", &index, &price); err != nil {
		log.Fatal(err)
	}
	c := n.campaigns[index]
	c.total[k]++
	if (k == impression) != c.onImpression || n.charged[token] && n.fault != "charges tokens twice" {
		return
	}
	n.charged[token] = true
	charge := min(price, n.wallets[c.vendor])
	if c.budget > 0 && n.fault != "forgets to clip" {
		charge = min(charge, c.budget-c.spent)
	}
	if charge > 0 {
		c.count++
		c.spent += charge
		n.wallets[c.vendor] -= charge
	}
}

func (n *referenceServer) read(u *url.URL) []byte {
	path := strings.TrimPrefix(u.Path, "/public/v1")
	switch {
	case path == "/campaign-service/campaigns":
		var list []string
		for i, c := range n.campaigns {
			list = append(list, fmt.Sprintf(`{"campaignId":"c%d","budget":{"amount":%d,"amountUsed":%d}}`, i, c.budget/10_000, c.spent/10_000))
		}
		return fmt.Appendf(nil, `{"campaigns":[%s],"hasMore":false}`, strings.Join(list, ","))
	case strings.HasPrefix(path, "/reporting-service/campaigns/c"):
		var i int
		if _, err := fmt.Sscanf(path, "/reporting-service/campaigns/c%d", &i); err != nil {
			log.Fatal(err)
		}
		return n.campaigns[i].report()
	case strings.HasSuffix(path, "/balance"):
		balance := n.wallets[strings.Split(path, "/")[3]]
		return fmt.Appendf(nil, `{"balance":%d.%06d}`, balance/1e6, balance%1e6)
	case path == "/metrics":
		h := fnv.New32()
		_, _ = fmt.Fprint(h, n.wallets, len(n.seen), len(n.charged)) // Maps print in key order.
		if n.fault == "replays differently" {
			_, _ = fmt.Fprint(h, n.started)
		}
		return fmt.Appendf(nil, "gavel_raft_state_digest{group=\"1\"} %d\n", h.Sum32())
	}
	return []byte(`{"status":"ok"}`)
}

func (c *referenceCampaign) report() []byte {
	var charged, spent [kinds]int64
	k := click
	if c.onImpression {
		k = impression
	}
	charged[k], spent[k] = c.count, c.spent
	return fmt.Appendf(nil, `{"completeThrough":%q,"impressions":{"total":%d,"charged":%d,"adSpentDecimal":"%d.%04d"},"clicks":{"total":%d,"charged":%d,"adSpentDecimal":"%d.%04d"}}`,
		time.Now().Add(time.Minute).UTC().Format(time.RFC3339Nano), c.total[impression], charged[impression], spent[impression]/1e4, spent[impression]%1e4,
		c.total[click], charged[click], spent[click]/1e4, spent[click]%1e4)
}
