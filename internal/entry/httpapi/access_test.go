package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// signIn returns the admin's browser.
func (in *instance) signIn() *client {
	in.t.Helper()
	a := in.nobody.post("/auth/login", map[string]string{"email": " Ada@Example.org", "password": adminPassword}).ok(200)
	return in.nobody.with("Cookie", cookieOf(a)).with("X-CSRF-Token", a.text("csrfToken"))
}

func cookieOf(a answer) string {
	a.t.Helper()
	for _, c := range a.cookies {
		if c.Name == "dogwatch_session" {
			return c.Name + "=" + c.Value
		}
	}
	a.t.Fatalf("%s: no cookie", a.what)
	return ""
}

func TestASignedInBrowser(t *testing.T) {
	in := start(t)
	a := in.nobody.post("/auth/login", map[string]string{"email": adminEmail, "password": adminPassword}).ok(200)
	c := a.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure || c.Path != "/" || len(c.Value) < 40 || c.MaxAge <= 0 {
		t.Errorf("the cookie is %+v", c)
	}
	browser := in.nobody.with("Cookie", cookieOf(a))
	me := browser.get("/me").ok(200)
	if me.text("person.email") != adminEmail || me.text("role") != "admin" || me.text("csrfToken") != a.text("csrfToken") || me.text("workspace.slug") != "here" {
		t.Errorf("GET /me is %s", me.Body)
	}

	t.Run("needs its CSRF token to change anything", func(t *testing.T) {
		browser.post("/tasks", `{"instruction":"x"}`).fails(403, "forbidden")
		browser.with("X-CSRF-Token", "guess").post("/tasks", `{"instruction":"x"}`).fails(403, "forbidden")
		browser.with("X-CSRF-Token", me.text("csrfToken")).post("/tasks", `{"instruction":"x"}`).ok(201)
		browser.with("X-CSRF-Token", me.text("csrfToken")).with("Sec-Fetch-Site", "cross-site").post("/tasks", `{"instruction":"x"}`).fails(403, "forbidden")
		browser.with("X-CSRF-Token", me.text("csrfToken")).with("Origin", "https://evil.example").post("/tasks", `{"instruction":"x"}`).fails(403, "forbidden")
	})
	t.Run("is out after signing out", func(t *testing.T) {
		browser.with("X-CSRF-Token", me.text("csrfToken")).post("/auth/logout", nil).ok(204)
		browser.get("/me").fails(401, "unauthorized")
	})
}

func TestAnotherSiteCannotSignSomebodyIn(t *testing.T) {
	in := start(t)
	in.nobody.with("Sec-Fetch-Site", "cross-site").post("/auth/login", map[string]string{"email": adminEmail, "password": adminPassword}).fails(403, "forbidden")
}

func TestWithoutSigningInThereIsNothing(t *testing.T) {
	in := start(t)
	p := in.nobody.get("/tasks")
	p.fails(401, "unauthorized")
	if p.Header.Get("WWW-Authenticate") == "" {
		t.Error("a 401 does not say how to sign in")
	}
	for _, h := range []string{"Bearer", "Bearer ", "Bearer dw_nonsense", "Basic YWRhOmFkYQ==", "dw_nonsense"} {
		in.nobody.with("Authorization", h).get("/tasks").fails(401, "unauthorized")
	}
	// A wrong token is not made up for by a right cookie.
	in.signIn().with("Authorization", "Bearer dw_nonsense").get("/me").fails(401, "unauthorized")
	in.nobody.with("Cookie", "dogwatch_session=nonsense").get("/me").fails(401, "unauthorized")
}

func TestGuessingPasswordsIsSlow(t *testing.T) {
	in := start(t)
	wrong := func(email string) answer {
		return in.nobody.post("/auth/login", map[string]string{"email": email, "password": "wrong"})
	}
	known := wrong(adminEmail)
	known.fails(401, "unauthorized")
	unknown := wrong("nobody@example.org")
	unknown.fails(401, "unauthorized")
	if string(known.Body) != string(unknown.Body) {
		t.Error("the answer tells which accounts exist")
	}
	for range 10 {
		a := wrong(adminEmail)
		if a.Status == 401 {
			continue
		}
		a.fails(429, "rate_limited")
		if s := a.Header.Get("Retry-After"); s == "" || s == "0" {
			t.Errorf("Retry-After is %q", s)
		}
		return
	}
	t.Error("a dozen wrong passwords in a second were taken")
}

func TestALinkSignsInOnce(t *testing.T) {
	in := start(t)
	link := func(ttl time.Duration) string {
		secret := id.Secret(32)
		in.tx(func(tx *store.Tx) error {
			return tx.CreateSignInLink(t.Context(), in.adminPerson.ID, access.HashSecret(secret), ttl)
		})
		return "/auth/start/" + secret
	}
	once := link(time.Hour)
	for _, h := range []string{"prefetch", "prefetch;prerender"} {
		if a := in.nobody.with("Sec-Purpose", h).get(once); a.Status != 204 || len(a.cookies) != 0 {
			t.Errorf("a look ahead was answered with %d", a.Status)
		}
	}
	in.nobody.do("HEAD", once, nil)
	a := in.nobody.get(once).ok(303)
	if a.Header.Get("Location") != "/" {
		t.Errorf("it leads to %s", a.Header.Get("Location"))
	}
	in.nobody.with("Cookie", cookieOf(a)).get("/me").ok(200)

	for _, dead := range []string{once, link(-time.Second), "/auth/start/nonsense"} {
		a := in.nobody.get(dead).ok(303)
		if len(a.cookies) != 0 || a.Header.Get("Location") == "/" {
			t.Errorf("%s signed in", dead)
		}
	}
}

func TestAnAccountChangesItself(t *testing.T) {
	in := start(t)
	browser, other := in.signIn(), in.signIn()
	a := browser.patch("/me", `{"name":"Ada L.","timezone":"europe/berlin","language":"zh-CN"}`).ok(200)
	if a.text("name") != "Ada L." || a.text("timezone") != "Europe/Berlin" || a.text("language") != "zh-CN" {
		t.Errorf("the account is %s", a.Body)
	}
	browser.patch("/me", `{"timezone":"Mars/Olympus"}`).fails(422, "invalid_timezone")
	browser.patch("/me", `{"password":"short"}`).fails(422, "invalid")
	browser.patch("/me", `{"name":null}`).fails(422, "invalid")
	browser.patch("/me", `{"email":"x@example.org"}`).fails(422, "invalid")
	in.admin.patch("/me", `{"password":"another long password"}`).fails(403, "forbidden") // by token

	// What the zone is of, a task takes: 7:00 in Berlin.
	task := browser.post("/tasks", `{"instruction":"x","automation":{"mode":"schedule","pattern":"0 7 * * *"}}`).ok(201)
	if task.text("automation.timezone") != "Europe/Berlin" {
		t.Errorf("the zone is %s", task.text("automation.timezone"))
	}

	browser.patch("/me", `{"password":"another long password"}`).ok(200)
	browser.get("/me").ok(200)
	other.get("/me").fails(401, "unauthorized") // signed out by the change
	in.nobody.post("/auth/login", map[string]string{"email": adminEmail, "password": adminPassword}).fails(401, "unauthorized")
	in.nobody.post("/auth/login", map[string]string{"email": adminEmail, "password": "another long password"}).ok(200)
}

func TestAPersonInSeveralWorkspacesChoosesOne(t *testing.T) {
	in := start(t)
	browser := in.signIn()
	in.operator.newTask()
	browser.with("X-Workspace", "there").get("/tasks").fails(404, "not_found")
	in.tx(func(tx *store.Tx) error { return tx.AddMember(t.Context(), in.there, in.adminPerson.ID, access.Viewer) })

	if n := len(browser.get("/tasks").ok(200).items()); n != 1 {
		t.Errorf("at home are %d tasks", n)
	}
	there := browser.with("X-Workspace", "there")
	if n := len(there.get("/tasks").ok(200).items()); n != 0 {
		t.Errorf("there are %d tasks there", n)
	}
	there.get("/tasks/T-1").fails(404, "not_found")
	there.post("/tasks", `{"instruction":"x"}`).fails(403, "forbidden") // a viewer there
	browser.with("X-Workspace", in.there.Workspace()).get("/me").ok(200)
	if me := there.get("/me").ok(200); me.text("role") != "viewer" || len(me.object()["workspaces"].([]any)) != 2 {
		t.Errorf("GET /me is %s", me.Body)
	}
	in.admin.with("X-Workspace", "there").get("/tasks").fails(404, "not_found") // a token is of one
	in.admin.with("X-Workspace", "here").get("/tasks").ok(200)
}

func TestATokenMayWhatItSays(t *testing.T) {
	in := start(t)
	token := func(c *client, body string) *client {
		return in.nobody.with("Authorization", "Bearer "+c.post("/tokens", body).ok(201).text("token"))
	}
	task := in.operator.newTask()

	reader := token(in.admin, `{"name":"r","role":"viewer"}`)
	reader.get("/tasks").ok(200)
	reader.post("/tasks/"+task+"/pause", nil).fails(403, "forbidden")

	limited := token(in.admin, `{"name":"l","role":"admin","scopes":["tasks:read","briefs"]}`)
	limited.get("/tasks/" + task).ok(200)
	limited.get("/briefs").ok(200)
	limited.post("/tasks/"+task+"/cancel", nil).fails(403, "forbidden")
	limited.get("/tokens").fails(403, "forbidden")

	in.admin.post("/tokens", `{"name":"x","role":"admin","scopes":["everything"]}`).fails(422, "invalid")
	in.admin.post("/tokens", `{"name":"x","role":"admin","expiresAt":"2020-01-01T00:00:00Z"}`).fails(422, "invalid")
	in.admin.post("/tokens", `{"name":"x","role":"owner"}`).fails(422, "invalid")

	minter := token(in.admin, `{"name":"m","role":"admin","scopes":["tokens"]}`)
	minter.post("/tokens", `{"name":"x","role":"admin"}`).fails(403, "forbidden") // out of its limits
	minter.post("/tokens", `{"name":"x","role":"admin","scopes":["tokens"]}`).ok(201)

	items := in.admin.get("/tokens?limit=200").ok(200).items()
	for _, item := range items {
		if item["name"] == "r" {
			in.admin.delete("/tokens/" + item["id"].(string)).ok(204)
			in.admin.delete("/tokens/"+item["id"].(string)).fails(404, "not_found")
			in.abroad.delete("/tokens/"+items[1]["id"].(string)).fails(404, "not_found")
		}
	}
	reader.get("/tasks").fails(401, "unauthorized")
}

func TestWhoChangedWhatIsKept(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	in.operator.post("/tasks/"+task+"/cancel", nil).ok(200)
	in.admin.post("/tokens", `{"name":"ci","role":"viewer"}`).ok(201)
	in.signIn()
	var actions []string
	for _, item := range in.admin.get("/audit").ok(200).items() {
		actions = append(actions, item["action"].(string))
	}
	if got := fmt.Sprint(actions); got != "[session.create token.create task.cancel task.create]" {
		t.Errorf("the audit has %s", got)
	}
	in.operator.get("/audit").fails(403, "forbidden")
	if n := len(in.abroad.get("/audit").ok(200).items()); n != 0 {
		t.Error("another workspace sees it")
	}
}

func TestHealth(t *testing.T) {
	in := start(t)
	in.nobody.get("/healthz").ok(200)
	in.nobody.get("/readyz").ok(200)
	page := string(in.nobody.get("/metrics").ok(200).Body) // from loopback
	if !strings.Contains(page, `dogwatch_http_request_seconds_count{method="GET",route="/readyz",status="2xx"} 1`) {
		t.Errorf("the metrics lack the requests: %.2000s", page)
	}
	in.nobody.with("X-Forwarded-For", "10.0.0.1").get("/metrics").fails(401, "unauthorized") // through a proxy
	in.viewer.with("X-Forwarded-For", "10.0.0.1").get("/metrics").ok(200)

	in.store.Close()
	a := in.nobody.get("/readyz")
	a.fails(503, "unavailable")
	if a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), `"database"`) {
		t.Errorf("without a database: %s", a.Body)
	}
	in.nobody.get("/healthz").ok(200)
}

func TestAnInstanceThatDrainsIsNotReady(t *testing.T) {
	in := start(t)
	in.api.Drain()
	in.nobody.get("/readyz").fails(503, "unavailable")
	in.viewer.get("/tasks").ok(200) // what is under way goes on
}
