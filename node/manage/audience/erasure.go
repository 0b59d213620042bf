package audience

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

type eraseInput struct {
	UserID string `path:"opaque_user_id" minLength:"1" maxLength:"90" doc:"The opaqueUserId of auctions and events."`
}

// RegisterErasure mounts the erasure of a user of the storefront. hash makes the function that hashes the users of a
// marketplace.
func RegisterErasure(api huma.API, hash func(secret [32]byte, marketplace uint16) func(id []byte) uint64) {
	resource.Add(api, resource.Op{
		ID: "eraseUser", Method: http.MethodDelete, Status: http.StatusNoContent, Path: "/public/v1/user-service/users/{opaque_user_id}",
		Tag: segmentTag, Personal: true,
		Doc: "Erase what is stored of a user of the storefront: seen and clicked ads, who bought in purchases, links to other users, and membership in segments. " +
			"Reports and charges stay. It succeeds for unknown users too. A user that reports events afterwards is stored again.",
	}, func(ctx context.Context, in *eraseInput) (*struct{}, error) {
		st := resource.Tenant(ctx)
		user := hash(st.UserSecret(), resource.CallerOf(ctx).Marketplace)([]byte(in.UserID))
		return nil, resource.ErrorOf(st.EraseUser(ctx, user))
	})
}
