package jobs

import (
	"context"

	"github.com/gavel-ads/gavel/node/store"
)

// AnswerWorker removes stored answers to requests with an Idempotency-Key when their time has passed.
func AnswerWorker() Worker {
	return Worker{Kind: store.TaskAnswer, AtOnce: 1, Do: func(ctx context.Context, t store.Tenant, d store.ScheduledTask) error {
		return t.ForgetAnswer(ctx, d)
	}}
}
