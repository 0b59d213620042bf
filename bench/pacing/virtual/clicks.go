package virtual

// click is a click on its way to the leader.
type click struct {
	at       int64
	order    uint64 // Decides between equal times.
	price    int64
	campaign int32
	node     int32 // The node that receives the event.
}

// clickQueue is a heap of clicks, the earliest first.
type clickQueue []click

func (q clickQueue) before(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}

func (q *clickQueue) push(c click) {
	*q = append(*q, c)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *clickQueue) pop() click {
	h := *q
	first := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h.before(child+1, child) {
			child++
		}
		if !h.before(child, i) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	*q = h
	return first
}
