/// Texts with a mistake: `predicates.json` has the column and the message of each.
enum PredicateVectorFaults {
    static let texts: [String] =
        Self.written
        + [
            String(repeating: "(", count: 33) + "age == 1" + String(repeating: ")", count: 33),
            String(repeating: "NOT ", count: 40) + "age == 1",
            (0..<300).map { "age == \($0)" }.joined(separator: " OR "),
            "name == \"\(String(repeating: "x", count: 1_025))\"",
        ]

    private static let written = [
        // Names.
        "id == 4", "nmae == 'x'", "nothing == 1", "phones.Number == 'x'", "boss.objectID == 4", "# == 'x'", "no == 5",
        "age > 3 AND any LIKE 'x'", "SELF.name == 'x'", "phones.@max.number == 5", "phones@count > 5",
        "boss.@count > 5",
        "phones.number == 'x'", "boss.team.phones.number == 'x'", "ANY age == 5", "ANY SELF == 5",
        "boss.boss.boss.boss.boss.name == 'x'", "name.x == 1", "budget > 0", "__proto__ == 1", "constructor == 1",
        // Functions and operators.
        "lower(name) == 'x'", "COUNT(phones) > 1", "age == foo(3)", "name IS NULL", "name NOT LIKE 'a*'",
        "name ILIKE 'a'", "name StartsWith 'a'", "active", "boss", "age === 3", "age ≠ 3", "age BETWEEN 1 AND 5",
        "age BETWEEN {1}", "age + 1 > 5", "age > 5 + 1", "age > 5 & age < 9", "age > 5 ; age < 9", "name:milk",
        "name LIKE '%milk%'", "'x' IN name", "name ==[x] 'a'", "age ==[c] 5", "age CONTAINS '5'", "boss > 5",
        "team == 5", "ANY team > 5",
        // Sub-trees.
        "SELF IN[c] SUBTREE(2)", "SELF IN SUBTREE 2", "boss IN SUBTREE(2)", "SELF IN SUBTREE(2, phones)",
        "SELF IN SUBTREE(0)", "SELF IN SUBTREE(9007199254740992)",
        // Values.
        "name == “x”", "name == `x`", "name == age", "name == %@", "name == $name", "age == {3}", "age == '3'",
        "age == x", "active == 'YES'", "boss == 'Ann'", "boss == 0", "boss == 9007199254740992", "phones.@count == '3'",
        "key == uuid('x')", "photo == data('*')", "money == 'x'", "age == 1e400", "age == YES", "name == 5",
        "money == 123456789012345678901234567890123456789",
        // Dates.
        "born >= 2026-13-01", "born >= 2026-02-30", "born >= '2026-02-30'", "born >= date(\"2026-02-30\")",
        "born >= 2026-02-01T24:00", "born >= 2026-02-01 14:60", "born >= 2026-2-1", "born >= \"soon\"",
        "born >= today - 7", "born >= 5", "age == 2026-02-01",
        // What is missing or left over, and columns after characters of several bytes and units.
        "name", "name ==", "name == 'abc", "age > 1 AND", "age > 1 AND (age < 5", "age IN {1, 2", "age > 5)",
        "AND age > 5", "age > 5 age < 9", "()", "age > 5 ORDER BY age", "name == 'é😀' AND nmae == 'x'",
        "name == '\u{65}\u{301}' AND x == 1", "name == 'a\nb' AND\nage = = 5", "name == 'x' AND é == 1", "\u{0}",
        "age == 5 \u{1}",
    ]
}
