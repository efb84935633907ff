import NestModel

/// The texts of `predicates.json`, for the objects of `VectorWorld`.
enum PredicateVectorCases {
    struct Case {
        var entity: String
        var text: String
        var zone = ""
        /// Microseconds since 1970-01-01 UTC.
        var now: Int64 = 0
    }

    static let all: [Case] =
        Self.person.map { Case(entity: "Person", text: $0) } + Self.others + Self.dated

    private static let person = [
        "", "TRUEPREDICATE", "FALSEPREDICATE", "NOT TRUEPREDICATE",
        // Equality of text, folded and not.
        #"name == "Ann""#, #"name = 'ann'"#, #"name ==[c] "ANN""#, #"name ==[d] "Ann""#, #"name ==[cd] "ann""#,
        #"name != "Ann""#, #"name !=[c] "ann""#, #"name <>[cd] "ÄNN""#, #"name == "Änn""#, "name == \"A\u{308}nn\"",
        #"name ==[c] "strasse""#, #"name ==[c] "STRAßE""#, #"name ==[c] "οδος""#, #"name ==[c] "οδοσ""#,
        #"name ==[cd] "istanbul""#, #"name ==[c] "istanbul""#, #"name == """#, #"name == nil"#, #"name != NULL"#,
        #"nil == name"#, #""Ann" == name"#, #"name == "50% off*?\\ \"now\"\n\ttab""#, #"#any == "x""#,
        // Order of text.
        #"name < "B""#, #"name <= "Ann""#, #"name > "ann""#, #"name >= "s""#, #"name <[c] "b""#,
        #"name >=[cd] "istanbul""#,
        "#any > \"\u{ffff}\"", #"name < nil"#, #"name BETWEEN {"A", "T"}"#, #"name BETWEEN[c] {"a", "b"}"#,
        #"name BETWEEN {nil, "b"}"#, #"name BETWEEN {"b", "a"}"#,
        // Numbers.
        "age == 41", "age == 41.0", "age != 0", "age < 0", "age <= 0", "age > 2", "age >= 10", "41 == age", "3 < age",
        "age == -1", "age == +41", "age == 9007199254740992", "age == 9007199254740993", "age > 9007199254740992",
        "age > 9007199254740992.0", "age == 9007199254740992.0", "age < 1e300", "age > -1e300",
        "age >= 9223372036854775807",
        "age <= -9223372036854775808", "age > 9223372036854775808", "age == 2.5", "age > 2.5", "age < 2.5",
        "age BETWEEN {0, 41}", "age BETWEEN (0.5, 2.5)", "age BETWEEN {41, 0}", "age == nil", "age != nil",
        "level == -3", "level > -1", "level < 40000", "year == 2026", "year BETWEEN {-1, 2026}",
        "score == 0", "score == 0.0", "score == -0.0", "score == -0", "score != -0.0", "score >= -0.0", "score < -0.0",
        "score == 2", "score == 2.0", "score == 9007199254740992", "score == 9007199254740993",
        "score < 9007199254740993", "score > 1e308", "score < -1e308", "score == 5e-324", "score > 0",
        "score BETWEEN {-0.0, 2}", "score BETWEEN {-1.5, 2.5}", "ratio == 0.5", "ratio == 0.1", "ratio > 0.1",
        "ratio < 0.1000001", "ratio IN {0.5, 2}",
        // IN.
        "age IN {}", "age IN {41}", "age IN {0, 41, nil}", "age IN {0, 0, 41}", "age IN {2.0, 3.5, 10}",
        "score IN {-0.0, 99}", "score IN {-0.0}", "score IN {0, 99}", "score IN {0.0, -0.0}", "score IN {-0.0, 0, 99}",
        "score IN {2, 2.5}", "NOT score IN {-0.0, 2}", "age IN {-0.0, 41}", "name IN {'Ann', 'ann'}",
        "name IN[c] {'ANN', 'strasse'}", "name IN[cd] {'ann', nil}", "name IN {nil}", "NOT name IN {'Ann', nil}",
        "money IN {0, 12.50}", "SELF IN {5, 9, 99}", "boss IN {5, nil}",
        // Booleans, dates, data, uuid, decimals and URIs.
        "active == YES", "active == NO", "active != YES", "active == 1", "active == nil", "active > NO",
        "active <= YES",
        "active IN {YES, nil}", "born == 1970-01-01", "born < 1970-01-01", "born >= 2026-02-01T00:00:00+01:00",
        "born BETWEEN {1970-01-01, 2026-12-31 23:59:59.999999Z}", "born == nil",
        #"born == date("2026-01-31T23:00:00Z")"#, #"born > "2026-03-01""#, "born IN {1970-01-01, nil}",
        #"photo == data("AP8Q")"#, #"photo == data("")"#, #"photo > data("AA==")"#, #"photo <= data("AA==")"#,
        #"key == uuid("00112233-4455-6677-8899-aabbccddeeff")"#, #"key < uuid("00112233445566778899AABBCCDDEEFF")"#,
        #"key >= uuid("00112233-4455-6677-8899-aabbccddeeff")"#, "money == 12.5", "money == 12.50", "money == '12.5'",
        "money > 9", "money < 0", "money >= -12.5", "money > 123456789012345678901234567890.12345677",
        "money BETWEEN {-1, 10}", "money == 1e1", "money != 2", #"home == "urn:x""#, #"home BEGINSWITH "https:""#,
        #"home CONTAINS[c] "ann""#,
        // Parts of texts.
        #"name CONTAINS "nn""#, #"name CONTAINS[c] "NN""#, #"name CONTAINS[d] "Ann""#, #"name CONTAINS[cd] "ANN""#,
        "name CONTAINS \"\u{308}\"", #"name CONTAINS """#, #"name CONTAINS[c] "SS""#,
        #"name CONTAINS "\n""#, #"name BEGINSWITH "A""#, #"name BEGINSWITH[cd] "a""#, #"name BEGINSWITH """#,
        "name BEGINSWITH[c] \"i\u{307}\"", #"name ENDSWITH "n""#, #"name ENDSWITH[c] "SE""#, #"name ENDSWITH[c] "Σ""#,
        #"name ENDSWITH """#, #"NOT name CONTAINS "n""#, #"name CONTAINS[c] "ω""#, #"name CONTAINS[c] "FI""#,
        // LIKE.
        #"name LIKE "A*""#, #"name LIKE "?nn""#, #"name LIKE[c] "?NN""#, #"name LIKE[d] "Ann""#, #"name LIKE "*""#,
        #"name LIKE """#, #"name LIKE "???""#, #"name LIKE "*n*n*""#, #"name LIKE "50\% *""#, #"name LIKE "*\*\?*""#,
        #"name LIKE "*%*""#, #"#any LIKE "a\*b""#, #"#any LIKE "a?b""#, #"#any LIKE "??""#, #"name LIKE[cd] "i*L""#,
        #"name LIKE[c] "stra??e""#, #"name LIKE[c] "*\\\\*""#,
        // Paths over to-one relationships.
        "boss == 5", "boss != 5", "boss == nil", "boss != nil", "boss.name == 'Ann'", "boss.name != 'Ann'",
        "boss.name == nil", "boss.boss == 5", "boss.boss.boss.name == 'Ann'", "boss.age > 0", "boss.boss != nil",
        "boss.active == YES AND active == NO", "boss.name ==[d] 'Ann'",
        // Counts.
        "team.@count == 0", "team.@count > 1", "team.@count >= 1.5", "boss.team.@count == 2", "boss.team.@count == nil",
        "phones.@count IN {1, 2}", "tags.@count BETWEEN {1, 2}", "tags.@count != 0", "boss.tags.@count == 2",
        // Quantifiers.
        "ANY team.name == 'ann'", "ALL team.age > 0", "NONE team.age > 0", "SOME phones.yes == YES",
        "ALL phones.yes == YES", "ANY phones.number == nil", "NONE phones.number BEGINSWITH '+41'", "ANY tags == 3",
        "ALL tags == 1", "NONE tags IN {1, 2}", "ANY tags.title ==[cd] 'red'", "ALL tags.title != nil",
        "ANY boss.team.name CONTAINS[d] 'nn'", "ALL boss.team.age != nil", "NONE boss.team == 8",
        "ANY team.boss == 5", "ANY team.boss.name == 'Ann'", "ANY team.team.@count > 0", "ALL team.tags.@count >= 1",
        "NONE team.phones.@count > 0", "ANY tags.people.@count > 2", "NOT ANY tags.title == 'red'",
        // Subqueries.
        "SUBQUERY(phones, $p, $p.number BEGINSWITH '+41' AND $p.#yes == YES).@count > 0",
        "SUBQUERY(team, $p, $p.age > 0 AND $p.name != nil).@count == 1",
        "SUBQUERY(tags, $t, $t.title == 'red').@count == 0",
        "SUBQUERY(boss.team, $p, $p.boss.name == 'Ann').@count >= 2",
        "SUBQUERY(boss.team, $p, $p.age > 0).@count == nil",
        "SUBQUERY(tags, $t, ANY $t.people.name == 'Ann' OR $t.people.@count > 2).@count > 0",
        "SUBQUERY(team, $p, SUBQUERY($p.phones, $q, $q.number != nil).@count > 0).@count BETWEEN {1, 2}",
        "SUBQUERY(team, $p, SUBQUERY($p.tags, $q, SUBQUERY($q.people, $r, $r.active == YES).@count > 1).@count > 0).@count > 0",
        "SUBQUERY(team, $p, FALSEPREDICATE).@count == 0", "SUBQUERY(team, $p, $p == 9).@count != 0",
        "NOT SUBQUERY(team, $p, NOT $p.score > 0).@count < 2",
        "SUBQUERY(phones, $p, $p.number MATCHES '.*1').@count > 0",
        "ANY team.name != 'ann'", "ALL tags.title LIKE '*d'", "NONE tags.title == ''", "ANY team == nil",
        // Functions.
        "team.@sum.age > 40", "team.@sum.age == 0", "team.@min.age < 0", "team.@max.age >= 10.0",
        "team.@max.name ==[c] 'ann'",
        "team.@max.name CONTAINS 'n'", "team.@avg.age > 1.5", "team.@avg.age == nil", "team.@avg.score <= 2.5",
        "team.@sum.money > 12", "team.@min.money IN {0, -12.5}", "team.@max.born >= 2026-02-01",
        "boss.team.@max.age == 41",
        "boss.team.@sum.age == nil", "tags.@min.title == 'red'", "team.@max.active == YES", "team.@max.photo != nil",
        "NOT team.@min.key == nil", "team.@sum.score BETWEEN {0, 100} AND team.@count > 1",
        // SELF and sub-trees.
        "SELF == 5", "SELF != 5", "SELF IN {}", "SELF IN SUBTREE(5)", "SELF IN SUBTREE(8, team)",
        "NOT SELF IN SUBTREE(5)", "SELF IN SUBTREE(99)", "SELF IN SUBTREE(15) OR SELF == 15",
        // AND, OR, NOT.
        "age > 0 AND age < 10", "age < 0 OR age > 10", "age > 0 AND age < 10 OR name == 'Ann'",
        "age > 0 AND (age < 10 OR name == 'Ann')", "NOT age > 0", "NOT (age > 0 AND score > 0)", "NOT NOT age > 0",
        "! (age > 0) && score != nil || active == YES", "age > 0 AND age > 0 AND (age > 0 OR FALSEPREDICATE)",
        "age > 0 OR TRUEPREDICATE", "age > 0 AND FALSEPREDICATE", "NOT (age == nil OR score == nil)",
        "(age > 0 OR (age < 0 OR age == 0)) AND (score > 0 AND (ratio > 0 AND active == YES))",
        // Properties that are named like keywords.
        "#no == 5", "#any == 'YES'", "boss.no == 5", "#no IN {0, 5}", "#any CONTAINS '*'",
        // Regular expressions.
        "name MATCHES '[A-Z].*'", "name MATCHES[c] 'ann'", "name MATCHES[d] 'A.n'", "name MATCHES[cd] 'str.*'",
        "name MATCHES ''", "name MATCHES '.*\\d+.*'", "name MATCHES '(?s).*tab'", "ANY team.name MATCHES 'a.*'",
        "NOT name MATCHES '.{3}'", "name MATCHES[c] 'STRASSE'",
    ]

    private static let others = [
        Case(entity: "Manager", text: "budget > 0"), Case(entity: "Manager", text: "budget == nil OR name == 'Ann'"),
        Case(entity: "Manager", text: "ANY team.name == 'ann'"), Case(entity: "Manager", text: "NOT SELF == 5"),
        Case(entity: "Phone", text: "number BEGINSWITH '+41' AND #yes == YES"),
        Case(entity: "Phone", text: "owner.name == 'Ann'"), Case(entity: "Phone", text: "owner == nil"),
        Case(entity: "Phone", text: "owner.boss == 5"), Case(entity: "Phone", text: "owner.tags.@count >= 2"),
        Case(entity: "Phone", text: "ANY owner.tags.title == 'red'"),
        Case(entity: "Phone", text: "ALL owner.tags.title == 'red'"), Case(entity: "Phone", text: "#yes != NO"),
        Case(entity: "Tag", text: "ANY people.name == 'Ann'"), Case(entity: "Tag", text: "people.@count == 2"),
        Case(entity: "Tag", text: "NONE people.boss == 5"), Case(entity: "Tag", text: "title ==[cd] 'RED'"),
        Case(entity: "Tag", text: "SUBQUERY(people, $p, $p.age > 0 AND $p.boss == 5).@count > 0"),
        Case(entity: "Tag", text: "people.@max.age > 10"), Case(entity: "Tag", text: "people.@sum.level != 0"),
        Case(entity: "Phone", text: "owner.tags.@max.title == 'red'"), Case(entity: "Tag", text: "title > ''"),
        Case(entity: "Tag", text: "ALL people.phones.@count > 0"),
    ]

    /// 2026-03-29 12:00 UTC, a day of 23 hours in Berlin.
    private static let noon: Int64 = 1_774_785_600_000_000

    /// Texts whose meaning depends on the zone or on the time.
    private static let dated = ["", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati"].flatMap {
        zone in
        [
            "born == 2026-02-01", "born >= 2026-03-29", "born == 2026-03-29 02:30", "born == '2026-03-29 03:00'",
            "born < today", "born BETWEEN {yesterday, tomorrow}", "born <= now", "born == 2026-10-25 02:30",
            "born == date('2026-10-25T02:30:00Z')", "NOT born > TODAY()",
        ].map { Case(entity: "Person", text: $0, zone: zone, now: Self.noon) }
    }

    /// Programs that no text gives: they are not canonical, or compare with values that no text writes.
    static let programs: [(name: String, predicate: FetchPredicate)] = {
        func property(_ name: String) -> PropertyNumber { VectorWorld.person.propertyNumber(named: name)! }
        func test(
            _ name: String,
            _ symbol: Comparison.Operator,
            _ values: [AttributeValue],
            _ folding: TextFolding = []
        ) -> FetchPredicate.Node {
            .comparison(
                Comparison(
                    path: PropertyPath(leaf: .attribute(property(name))),
                    operator: symbol,
                    folding: folding,
                    values: values
                )
            )
        }
        let old = test("age", .greater, [.integer(2)])
        let ann = test("name", .equal, [.string("ANN")], .caseInsensitive)
        return [
            ("in-negative-zero", FetchPredicate(nodes: [test("score", .isIn, [.double(-0.0), .integer(99)])])),
            ("in-zeros", FetchPredicate(nodes: [test("score", .isIn, [.double(0), .double(-0.0)])])),
            ("integer-in-negative-zero", FetchPredicate(nodes: [test("age", .isIn, [.double(-0.0), .integer(99)])])),
            ("equal-negative-zero", FetchPredicate(nodes: [test("score", .equal, [.double(-0.0)])])),
            ("infinity", FetchPredicate(nodes: [test("score", .equal, [.double(.infinity)])])),
            (
                "in-infinities",
                FetchPredicate(nodes: [test("score", .isIn, [.double(.infinity), .double(-.infinity)])])
            ),
            ("below-infinity", FetchPredicate(nodes: [test("age", .less, [.double(.infinity)])])),
            (
                "between-not-folded",
                FetchPredicate(nodes: [
                    test("name", .between, [.string("A"), .string("B")], .caseInsensitive)
                ])
            ),
            ("and-of-three-with-repetition", FetchPredicate(nodes: [ann, old, old, .and(3)])),
            ("or-of-and", FetchPredicate(nodes: [old, ann, .and(2), ann, .or(2)])),
            ("not-of-and", FetchPredicate(nodes: [old, ann, .and(2), .not])),
            ("constants", FetchPredicate(nodes: [.constant(true), old, .and(2), .constant(false), .or(2)])),
            ("false", FetchPredicate(nodes: [.constant(false)])), ("true", FetchPredicate(nodes: [.constant(true)])),
            ("like-with-an-escaped-percent-sign", FetchPredicate(nodes: [test("name", .like, [.string("50\\% *")])])),
            ("in-with-null-twice", FetchPredicate(nodes: [test("age", .isIn, [.null, .integer(0), .null])])),
        ]
    }()
}
