package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Comment is what somebody wrote under a task. What people write is in the next
// run's prompt.
type Comment struct {
	ID         string  `json:"id"`
	TaskID     string  `json:"taskId"`
	Author     Actor   `json:"author"`
	Content    string  `json:"content"`
	TopicID    *string `json:"topicId" doc:"The run that wrote it"`
	BriefID    *string `json:"briefId" doc:"The brief that it answers"`
	ConsumedBy *string `json:"consumedBy" doc:"The run that took it up as feedback; null: the next one will"`
	Version    int64   `json:"version"`
	CreatedAt  Time    `json:"createdAt"`
	UpdatedAt  Time    `json:"updatedAt"`
}

func commentOf(c store.Comment) Comment {
	return Comment{
		c.ID, c.TaskID, Actor{Kind: c.AuthorKind, ID: deref(c.AuthorID)}, c.Content, c.TopicID, c.BriefID, c.ConsumedTopicID,
		c.Version, Time{c.CreatedAt}, Time{c.UpdatedAt},
	}
}

// CommentText is what is written.
type CommentText struct {
	Content string `json:"content" minLength:"1" maxLength:"100000" doc:"Markdown; the next run reads it first"`
}

type commentOut struct {
	ETag string `header:"ETag"`
	Body Comment
}

func (s *Server) commentRoutes() {
	add(s, route{method: "GET", path: "/tasks/{task}/comments", name: "listComments", noun: "comments", role: access.Viewer, does: "Comments under a task, the newest first"},
		func(ctx context.Context, in *taskPageIn) (*listOut[Comment], error) {
			p, err := s.page(ctx, in.Paging)
			if err != nil {
				return nil, err
			}
			taskID, err := s.Store.TaskID(ctx, caller(ctx).Scope, in.Task)
			if err != nil {
				return nil, err
			}
			items, next, err := s.Store.Comments(ctx, caller(ctx).Scope, taskID, p)
			if err != nil {
				return nil, err
			}
			out := listed(ctx, s, items, next, commentOf)
			return out, named(ctx, s, out.Body.Items, func(c *Comment) *Actor { return &c.Author })
		})
	add(s, route{method: "POST", path: "/tasks/{task}/comments", name: "addComment", noun: "comments", role: access.Operator, status: 201, once: true, does: "Comment on a task"},
		func(ctx context.Context, in *struct {
			ByTask
			Body CommentText
		}) (*commentOut, error) {
			c, err := s.Steer.Comment(ctx, caller(ctx), in.Task, in.Body.Content)
			return &commentOut{etag(c.Version), commentOf(c)}, err
		})
	add(s, route{method: "PATCH", path: "/comments/{id}", name: "editComment", noun: "comments", role: access.Operator, does: "Change your comment"},
		func(ctx context.Context, in *struct {
			ByID
			IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
			Body    CommentText
		}) (*commentOut, error) {
			c, err := s.Steer.EditComment(ctx, caller(ctx), in.ID, expected(in.IfMatch, nil), in.Body.Content)
			return &commentOut{etag(c.Version), commentOf(c)}, err
		})
	add(s, route{method: "DELETE", path: "/comments/{id}", name: "deleteComment", noun: "comments", role: access.Operator, does: "Delete your comment"},
		func(ctx context.Context, in *ByID) (*struct{}, error) {
			return nil, s.Steer.DeleteComment(ctx, caller(ctx), in.ID)
		})
}
