package httpapi

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"
)

// The page of the API is plain HTML that is made from the OpenAPI document here:
// it loads nothing, and needs no script.
var docsPage = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dogwatch API</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
summary { cursor: pointer; padding: .25rem 0; } summary code { font-size: 1rem; }
b.method { display: inline-block; width: 4.5rem; font: 600 .85rem ui-monospace, monospace; }
table { border-collapse: collapse; margin: .5rem 0 1rem 1rem; } td { padding: .15rem .8rem .15rem 0; vertical-align: top; }
code { font-family: ui-monospace, monospace; } .quiet { opacity: .7; } nav a { margin-right: .8rem; }
</style></head><body>
<h1>Dogwatch API</h1>
<p>{{.Description}} Base: <code>{{.Base}}</code>. The document itself: <a href="{{.Base}}/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<nav>{{range .Nouns}}<a href="#{{.Name}}">{{.Name}}</a>{{end}}<a href="#schemas">schemas</a></nav>
{{range .Nouns}}<h2 id="{{.Name}}">{{.Name}}</h2>
{{range .Operations}}<details id="{{.ID}}"><summary><b class="method">{{.Method}}</b><code>{{.Path}}</code> <span class="quiet">{{.Summary}}</span></summary>
<table>
<tr><td>who</td><td>{{.Who}}</td></tr>
{{range .Parameters}}<tr><td><code>{{.Name}}</code></td><td class="quiet">{{.In}}</td><td>{{.Type}}</td><td>{{.Doc}}</td></tr>{{end}}
{{with .Body}}<tr><td>body</td><td></td><td>{{.}}</td></tr>{{end}}
{{range .Answers}}<tr><td>{{.Name}}</td><td></td><td>{{.Type}}</td><td>{{.Doc}}</td></tr>{{end}}
</table></details>
{{end}}{{end}}
<h2 id="schemas">schemas</h2>
{{range .Schemas}}<details id="schema-{{.Name}}"><summary><code>{{.Name}}</code></summary>
<table>{{range .Fields}}<tr><td><code>{{.Name}}</code></td><td class="quiet">{{.In}}</td><td>{{.Type}}</td><td>{{.Doc}}</td></tr>{{end}}</table></details>
{{end}}</body></html>
`))

type docsNoun struct {
	Name       string
	Operations []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary, Who string
	Parameters                     []docsField
	Body                           template.HTML
	Answers                        []docsField
}

type docsField struct {
	Name, In string
	Type     template.HTML
	Doc      string
}

type docsSchema struct {
	Name   string
	Fields []docsField
}

func (s *Server) docs(c echo.Context) error {
	var page bytes.Buffer
	if err := docsPage.Execute(&page, docsOf(s.api.OpenAPI())); err != nil {
		return fmt.Errorf("write the page of the API: %w", err)
	}
	return c.HTMLBlob(http.StatusOK, page.Bytes())
}

func docsOf(api *huma.OpenAPI) any {
	var nouns []docsNoun
	paths := make([]string, 0, len(api.Paths))
	for p := range api.Paths {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		for _, op := range operations(api.Paths[p]) {
			at := slices.IndexFunc(nouns, func(n docsNoun) bool { return n.Name == op.Tags[0] })
			if at < 0 {
				at = len(nouns)
				nouns = append(nouns, docsNoun{Name: op.Tags[0]})
			}
			nouns[at].Operations = append(nouns[at].Operations, docsOperationOf(p, op))
		}
	}
	slices.SortFunc(nouns, func(a, b docsNoun) int { return strings.Compare(a.Name, b.Name) })
	var schemas []docsSchema
	for name, schema := range api.Components.Schemas.Map() {
		schemas = append(schemas, docsSchema{name, docsFields(schema)})
	}
	slices.SortFunc(schemas, func(a, b docsSchema) int { return strings.Compare(a.Name, b.Name) })
	return map[string]any{"Description": api.Info.Description, "Base": base, "Nouns": nouns, "Schemas": schemas}
}

func docsOperationOf(path string, op *huma.Operation) docsOperation {
	out := docsOperation{ID: op.OperationID, Method: op.Method, Path: path, Summary: op.Summary, Who: "anybody"}
	if r, ok := op.Metadata[routeKey].(*route); ok && r.role != public {
		out.Who = string(r.role)
	}
	for _, p := range op.Parameters {
		out.Parameters = append(out.Parameters, docsField{p.Name, p.In, docsType(p.Schema), p.Description})
	}
	if op.RequestBody != nil {
		for mediaType, m := range op.RequestBody.Content {
			out.Body = docsType(m.Schema)
			if mediaType != "application/json" {
				out.Body = template.HTML(template.HTMLEscapeString(mediaType))
			}
		}
	}
	for status, r := range op.Responses {
		f := docsField{Name: status, Doc: r.Description}
		for _, m := range r.Content {
			f.Type = docsType(m.Schema)
		}
		out.Answers = append(out.Answers, f)
	}
	slices.SortFunc(out.Answers, func(a, b docsField) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func docsFields(s *huma.Schema) (out []docsField) {
	for name, p := range s.Properties {
		need := "optional"
		if slices.Contains(s.Required, name) {
			need = ""
		}
		out = append(out, docsField{name, need, docsType(p), p.Description})
	}
	slices.SortFunc(out, func(a, b docsField) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// docsType is a schema in a few words, with a link to the one it names.
func docsType(s *huma.Schema) template.HTML {
	esc := template.HTMLEscapeString
	if s == nil {
		return ""
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return template.HTML(`<a href="#schema-` + esc(name) + `">` + esc(name) + `</a>`)
	}
	words := s.Type
	switch {
	case len(s.Enum) > 0:
		words = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.Enum)), " | "), "[]")
	case s.Format != "" && s.Type == huma.TypeString:
		words = s.Format
	case s.Type == huma.TypeArray:
		return "list of " + docsType(s.Items)
	case words == "":
		words = "any"
	}
	if s.Nullable {
		words += " or null"
	}
	return template.HTML(esc(words))
}
