import NestModel
import NestTestSupport
import Testing

@Suite struct PredicateParserTests {
    /// Users with posts, tags and bosses.
    static let model: ManagedObjectModel = {
        var user = EntityDraft(name: "User")
        user.attributes = [
            .named("name", .string), .named("age", .integer), .named("score", .double),
            .named("born", .date),
            .named("key", .uuid), .named("picture", .data), .named("active", .boolean),
            .named("money", .decimal), .named("home", .uri),
        ]
        user.relationships = [
            .toMany("posts", "Post", "user"), .toMany("tags", "Tag", "users"),
            .toOne("boss", "User", "team"), .toMany("team", "User", "boss"),
        ]
        var post = EntityDraft(name: "Post")
        post.attributes = [.named("title", .string), .named("number", .double)]
        post.relationships = [.toOne("user", "User", "posts")]
        var tag = EntityDraft(name: "Tag")
        tag.attributes = [.named("title", .string)]
        tag.relationships = [.toMany("users", "User", "tags")]
        return try! ModelDraft(entities: [user, post, tag]).compile()
    }()

    static var user: EntityDescription { Self.model.entity(named: "User")! }
    static var post: EntityDescription { Self.model.entity(named: "Post")! }

    private func text(_ text: String, _ entity: EntityDescription = Self.user) throws -> String {
        try FetchPredicate(text, of: entity, in: Self.model).text(of: entity, in: Self.model)
    }

    @Test(arguments: [
        ("name == \"Ann\"", "name == \"Ann\""),
        ("'Ann' = name", "name == \"Ann\""),
        ("age > 3", "age > 3"),
        ("3 < age", "age > 3"),
        ("age BETWEEN {1, 10}", "(age <= 10 AND age >= 1)"),
        ("age IN {3, 1, 3}", "age IN {1, 3}"),
        ("age IN (7)", "age == 7"),
        ("score == 1.5e2", "score == 150.0"),
        ("score >= -2", "score >= -2"),
        ("money == 1.500", "money == 1.5"),
        ("money < '2'", "money < 2"),
        ("active = YES", "active == YES"),
        ("active != 1", "active != YES"),
        ("NOT active == YES", "active != YES"),
        ("NOT (age > 3)", "NOT age > 3"),
        ("NOT NOT age > 3", "age > 3"),
        ("name == nil", "name == nil"),
        ("name CONTAINS[CD] \"É\"", "name CONTAINS[cd] \"e\""),
        ("name LIKE \"a*?\\*\"", "name LIKE \"a*?\\\\*\""),
        ("name MATCHES \"[A-Z]\\d+\"", "name MATCHES \"[A-Z]\\\\d+\""),
        ("ANY posts.title matches[dc] 'É\\.*'", "ANY posts.title MATCHES[cd] \"É\\\\.*\""),
        ("name MATCHES ''", "name MATCHES \"\""),
        ("boss == 7", "boss == 7"),
        (
            "subquery(posts, $p, $p.title == 'a' and $p.number > 2).@count > 0",
            "SUBQUERY(posts, $x, $x.title == \"a\" AND $x.number > 2).@count > 0"
        ),
        ("0 < SUBQUERY(boss.tags, $t, $t == 3).@count", "SUBQUERY(boss.tags, $x, $x == 3).@count > 0"),
        ("SUBQUERY(posts, $p, TRUEPREDICATE).@count == 2", "posts.@count == 2"),
        ("SUBQUERY(posts, $p, NOT TRUEPREDICATE).@count == 2", "SUBQUERY(posts, $x, FALSEPREDICATE).@count == 2"),
        (
            "NOT SUBQUERY(tags, $t, ANY $t.users.age > 3).@count = 0",
            "SUBQUERY(tags, $x, ANY $x.users.age > 3).@count != 0"
        ),
        (
            "SUBQUERY(team, $a, SUBQUERY($a.posts, $b, $b.user.boss == nil).@count IN {1,2} || $a.active = YES).@count > 1",
            "SUBQUERY(team, $x, $x.active == YES OR SUBQUERY($x.posts, $y, $y.user.boss == nil).@count IN {1, 2}).@count > 1"
        ),
        ("boss.name beginswith \"A\"", "boss.name BEGINSWITH \"A\""),
        ("boss == NULL", "boss == nil"),
        ("ANY posts.number > 3", "ANY posts.number > 3"),
        ("NONE tags.title == \"x\"", "NONE tags.title == \"x\""),
        ("ALL team.boss.age == 1", "ALL team.boss.age == 1"),
        ("posts.@count == 0", "posts.@count == 0"),
        ("boss.team.@count > 2", "boss.team.@count > 2"),
        ("ALL team.posts.@count > 2", "ALL team.posts.@count > 2"),
        ("ANY tags == 5", "ANY tags == 5"),
        ("SELF == 4", "SELF == 4"),
        ("SELF IN {4, 2}", "SELF IN {2, 4}"),
        ("SELF IN SUBTREE(9)", "SELF IN SUBTREE(9, team)"),
        ("SELF IN SUBTREE(9, team)", "SELF IN SUBTREE(9, team)"),
        ("born > date(\"2026-01-31\")", "born > date(\"2026-01-31T00:00:00.000000Z\")"),
        (
            "key == uuid(\"01234567-89ab-cdef-0123-456789abcdef\")",
            "key == uuid(\"01234567-89ab-cdef-0123-456789abcdef\")"
        ),
        ("picture == data(\"aGk=\")", "picture == data(\"aGk=\")"),
        ("", "TRUEPREDICATE"),
        ("TRUEPREDICATE", "TRUEPREDICATE"),
        ("age == 1 AND TRUEPREDICATE", "age == 1"),
        ("age == 1 OR TRUEPREDICATE", "TRUEPREDICATE"),
        ("age == 1 && FALSEPREDICATE", "FALSEPREDICATE"),
        ("age == 1 or age == 1", "age == 1"),
        ("home == \"http://a\"", "home == \"http://a\""),
    ])
    func predicatesAreWrittenInOneForm(_ written: String, _ expected: String) throws {
        let text = try self.text(written)
        let bare = expected.hasPrefix("(") ? String(expected.dropFirst().dropLast()) : expected
        #expect(text == bare)
        #expect(try self.text(text) == text, "the canonical text does not parse to itself")
    }

    @Test func equivalentPredicatesAreEqual() throws {
        let a = try FetchPredicate("age == 1 AND (name == \"x\" AND score > 2)", of: Self.user, in: Self.model)
        let b = try FetchPredicate("((score > 2) && name = 'x') AND 1 == age", of: Self.user, in: Self.model)
        #expect(a == b)
        let c = try FetchPredicate("age == 1 OR name == \"x\" AND score > 2", of: Self.user, in: Self.model)
        let d = try FetchPredicate("(name == \"x\" AND score > 2) OR age == 1", of: Self.user, in: Self.model)
        #expect(c == d)
        #expect(a != c)
    }

    @Test(arguments: [
        ("nme == 1", 1, "has no property 'nme'"),
        ("age == ", 8, "a value is expected"),
        ("age 1", 5, "an operator"),
        ("age == 1 AND", 13, "a property of User"),
        ("(age == 1", 10, "')'"),
        ("age MATCHES '3'", 13, "cannot be compared"),
        ("boss MATCHES 'a'", 14, "cannot be compared"),
        ("age IN {3} MATCHES 'a'", 12, "AND, OR or the end"),
        ("name MATCHES nil", 1, "can only be compared with a text by MATCHES"),
        ("name MATCHES {'a'}", 14, "a value is expected"),
        ("'a' MATCHES name", 5, "write the property to the left of MATCHES"),
        ("age == 1)", 9, "AND, OR or the end"),
        ("name == 1", 9, "quotation marks"),
        ("born == \"2026-31-01\"", 15, "there is no month 31"),
        ("age == \"x\"", 8, "cannot be compared"),
        ("name > 'a' AND age CONTAINS 'x'", 29, "cannot be compared"),
        ("age CONTAINS 3", 1, "is for text"),
        ("age ==[c] 3", 1, "for text"),
        ("boss > 3", 1, "objects have no order"),
        ("posts.number > 3", 1, "write ANY"),
        ("ANY boss.age == 3", 5, "leads to one"),
        ("ANY SELF == 3", 5, "leads to one"),
        ("NONE SELF IN SUBTREE(3)", 6, "leads to one"),
        ("ANY posts.user.tags.title == 'x'", 5, "more than one to-many"),
        ("name.first == 'x'", 6, "not a relationship"),
        ("posts.@sum == 1", 1, "@sum needs an attribute of"),
        ("posts.@total.x == 1", 8, "there is no @total: only @count"),
        ("name == 'abc", 9, "no closing '"),
        ("age == 1 ; age == 2", 10, "not allowed here"),
        ("name ==[x] 'a'", 9, "[c]"),
        ("age BETWEEN {1}", 5, "two values"),
        ("name == Ann", 9, "quotation marks"),
        ("age == 99999999999999999999999999e400", 8, "cannot be compared"),
        ("age IN SUBTREE(1)", 5, "only SELF"),
        ("SELF IN SUBTREE(x)", 17, "the id"),
        ("key == uuid('x')", 8, "is not a uuid"),
    ])
    func syntaxErrorsNameTheirColumn(_ text: String, _ column: Int, _ message: String) {
        let error = #expect(throws: PredicateSyntaxError.self) {
            try FetchPredicate(text, of: Self.user, in: Self.model)
        }
        #expect(error?.column == column, "\(error!)")
        #expect(error?.message.contains(message) ?? false, "\(error!)")
    }

    @Test func predicatesBeyondTheLimitsAreRefused() {
        let deep = String(repeating: "NOT (", count: 60) + "age == 1" + String(repeating: ")", count: 60)
        #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(deep, of: Self.user, in: Self.model) }
        let open = String(repeating: "(", count: 100_000)
        #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(open, of: Self.user, in: Self.model) }
        let many = (0..<300).map { "age == \($0)" }.joined(separator: " OR ")
        #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(many, of: Self.user, in: Self.model) }
        let long = "name == '\(String(repeating: "x", count: 2_000))'"
        #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(long, of: Self.user, in: Self.model) }
    }

    /// Any text parses to a valid predicate or is refused.
    @Test func anyTextParsesOrIsRefused() throws {
        var random = SeededRandom(seed: 11)
        let parts = [
            "age", "name", "boss", ".", "posts", "@", "count", "==", "!=", "<", "IN", "{", "}", "(", ")", ",", "1",
            "2.5", "'a'",
            "\"b", "AND", "OR", "NOT", "ANY", "nil", "[", "c", "]", "SELF", "SUBTREE", "date", " ", "é", "-", "LIKE",
            "BETWEEN", "MATCHES", "born", "2026-02-01", "2026-02", "today", "'2026-02-01'", ":", "#", "\"%\"", "key",
        ]
        var read = 0
        for _ in 0..<20_000 {
            let text = (0..<random.below(12)).map { _ in parts[random.below(parts.count)] }.joined(separator: " ")
            guard let predicate = try? FetchPredicate(text, of: Self.user, in: Self.model) else { continue }
            read += 1
            #expect(predicate.isWellFormed)
            #expect(predicate.faults(for: Self.user, in: Self.model).isEmpty, "\(text)")
            let canonical = predicate.text(of: Self.user, in: Self.model)
            #expect(try FetchPredicate(canonical, of: Self.user, in: Self.model) == predicate, "\(text): \(canonical)")
            var writer = ByteWriter()
            writer.write(predicate: predicate)
            let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.predicate() }
            #expect(read == predicate, "\(text)")
        }
        #expect(read > 100)
    }
}
