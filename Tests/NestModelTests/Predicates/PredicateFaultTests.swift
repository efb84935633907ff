import NestModel
import NestTestSupport
import Testing

/// A fault of a predicate says what to write instead.
@Suite struct PredicateFaultTests {
    /// People with properties that are named like keywords.
    private static let model: ManagedObjectModel = {
        var person = EntityDraft(name: "Person")
        person.attributes = [
            .named("name", .string), .named("age", .integer), .named("active", .boolean), .named("no", .integer),
            .named("any", .string), .named("Not", .string), .named("self", .string),
        ]
        person.relationships = [
            .toMany("phones", "Phone", "owner"), .toOne("boss", "Person", "team"), .toMany("team", "Person", "boss"),
        ]
        var phone = EntityDraft(name: "Phone")
        phone.attributes = [.named("number", .string), .named("yes", .boolean)]
        phone.relationships = [.toOne("owner", "Person", "phones")]
        return try! ModelDraft(entities: [person, phone]).compile()
    }()

    private static let person = Self.model.entity(named: "Person")!

    private func predicate(_ text: String) throws -> FetchPredicate {
        try FetchPredicate(text, of: Self.person, in: Self.model)
    }

    @Test(arguments: [
        // Names
        ("id == 4", 1, "Person has no property 'id': write SELF == 4 to compare the id of the object"),
        ("boss.objectID == 4", 6, "Person has no property 'objectID': write boss == 4 to compare the id"),
        ("nmae == 'x'", 1, "did you mean name?"),
        ("phones.Number == 'x'", 8, "did you mean number? it has number, yes, owner"),
        ("#foo == 'x'", 1, "has no property 'foo'"),
        ("# == 'x'", 1, "after # write the name of a property"),
        ("no == 5", 1, "'no' is a keyword: write #no for the property"),
        ("age > 3 AND any LIKE 'x'", 13, "'any' is a keyword: write #any for the property"),
        ("Not == 'x'", 1, "'Not' is a keyword: write #Not for the property"),
        ("self.name == 'x'", 5, "SELF is the object: write #self for the property"),
        ("phones.@median.number == 5", 9, "there is no @median: only @count, @sum, @min, @max, @avg"),
        ("phones@count > 5", 7, "write a point before @, like phones.@count"),
        ("boss.@count > 5", 7, "@count counts the objects of a to-many relationship"),
        ("phones.number == 'x'", 1, "write ANY, ALL or NONE before it, or count with phones.@count"),
        ("boss.team.phones.number == 'x'", 1, "follows more than one to-many relationship; a path may follow one"),
        ("ANY age == 5", 5, "age leads to one: leave out ANY, ALL or NONE"),
        // Functions
        ("lower(name) == 'x'", 1, "there is no function lower of a property: to ignore case, write [c]"),
        ("COUNT(phones) > 1", 1, "write @count after the relationship, like phones.@count"),
        ("EXISTS(phones) == 1", 1, "write SUBQUERY(phones, $p, $p.number BEGINSWITH"),
        // Subqueries
        ("SUBQUERY(phones, x, x) == 1", 18, "a variable like $p is expected here, not 'x': it stands for each object"),
        ("SUBQUERY(phones $x, $x == 1) == 1", 17, "',' is expected here, not '$x': write SUBQUERY(phones, $p, …)"),
        ("SUBQUERY(phones, $x) == 1", 20, "',' is expected here, not ')': the predicate follows the variable"),
        ("SUBQUERY(boss, $x, $x.age > 1).@count > 0", 10, "boss does not lead to many"),
        ("SUBQUERY(age, $x, $x.age > 1).@count > 0", 10, "age does not lead to many"),
        ("SUBQUERY(SELF, $x, $x.age > 1).@count > 0", 10, "SUBQUERY is of a to-many relationship, like phones"),
        ("SUBQUERY(team.phones, $x, $x == 1).@count > 0", 10, "write a SUBQUERY within a SUBQUERY"),
        ("ANY SUBQUERY(team, $x, $x == 1).@count > 0", 14, "SUBQUERY counts objects: leave out ANY, ALL or NONE"),
        ("SUBQUERY(phones, $x, $x.number == 'a') > 0", 40, ".@count is expected here, not '>'"),
        ("SUBQUERY(phones, $x, $x.number == 'a').@sum > 0", 41, ".@count is expected here, not 'sum'"),
        ("SUBQUERY(phones, $x, $x.nmber == 'a').@count > 0", 25, "did you mean number?"),
        ("SUBQUERY(phones, $x, number == 'a').@count > 0", 22, "begins with its variable: write $x.number"),
        ("SUBQUERY(phones, $x, $y.number == 'a').@count > 0", 22, "there is no variable $y: write $x"),
        ("SUBQUERY(phones, $x, $x.yes == 'a').@count > 0", 32, "yes is boolean"),
        ("SUBQUERY(team, $x, SUBQUERY($x.team, $y, $x.age > 1).@count > 0).@count > 0", 42, "an outer SUBQUERY"),
        ("SUBQUERY(team, $x, SUBQUERY($x.team, $x, $x.age > 1).@count > 0).@count > 0", 38, "choose another name"),
        ("SUBQUERY(team, $x, $x.age == $x.no).@count > 0", 30, "a value is expected here, not '$x'"),
        ("SUBQUERY(team, $x, $x IN SUBTREE(2)).@count > 0", 26, "SUBTREE cannot be inside a SUBQUERY"),
        ("SUBQUERY(phones, $x, $x.number == 'a'.@count > 0", 38, "')' is expected here, not '.'"),
        ("SUBQUERY(phones, $x, $x.number == 'a').@count > 'a'", 49, "is a count"),
        ("$x.name == 'a'", 1, "there is no variable $x here"),
        ("age == $", 8, "after $ write the name of a variable"),
        ("age == foo(3)", 8, "there is no function foo: values are written date(\"…\"), uuid(\"…\") and data(\"…\")"),
        // Operators
        ("name IS NULL", 6, "write name == nil"),
        ("boss.name is not null", 11, "write boss.name != nil"),
        ("name NOT LIKE 'a*'", 6, "write NOT before the comparison: NOT name LIKE …"),
        ("name not in {'a'}", 6, "write NOT before the comparison: NOT name IN …"),
        ("name ILIKE 'a'", 6, "write LIKE[c], not ILIKE"),
        ("name StartsWith 'a'", 6, "write BEGINSWITH, not StartsWith"),
        ("name ~= 'a'", 6, "MATCHES for a regular expression"),
        ("active", 7, "write active == YES or active == NO"),
        ("boss", 5, "compare with an id or with nil, like boss != nil"),
        ("age === 3", 7, "write == for equal"),
        ("age ≠ 3", 5, "write !="),
        ("age ≤ 3", 5, "write <="),
        ("age BETWEEN 1 AND 5", 13, "a list of two values, like BETWEEN {1, 10}"),
        ("age + 1 > 5", 5, "there is no arithmetic"),
        ("age > 5 + 1", 9, "there is no arithmetic"),
        ("age * 2 > 5", 5, "there is no arithmetic"),
        ("age > 5 & age < 9", 9, "write AND or &&"),
        ("age > 5 | age < 9", 9, "write OR or ||"),
        ("age > 5 ; age < 9", 9, "write AND or OR between two comparisons"),
        ("name:milk", 5, "write name == \"text\" or name CONTAINS[c] \"text\""),
        ("name LIKE '%milk%'", 11, "LIKE has * for any text, not %: write \"*milk*\", or \\% for a percent sign"),
        ("'x' IN name", 5, "write name CONTAINS \"x\""),
        // Sub-trees
        ("SELF IN[c] SUBTREE(2)", 6, "[c] and [d] are for text: write SELF IN SUBTREE(id)"),
        ("SELF IN SUBTREE 2", 17, "write SELF IN SUBTREE(id)"),
        ("SUBTREE(2)", 1, "write SELF IN SUBTREE(id)"),
        ("boss IN SUBTREE(2)", 6, "write SELF IN SUBTREE(id)"),
        ("SELF IN SUBTREE(2, phones)", 20, "write team"),
        // Values
        ("name == “x”", 9, "put texts in straight quotation marks"),
        ("name == ‘x’", 9, "put texts in straight quotation marks"),
        ("name == `x`", 9, "put texts in straight quotation marks"),
        ("name == age", 9, "'age' is a property: compare with a value"),
        ("name == SELF", 9, "write the object's id"),
        ("name == %@", 9, "there are no arguments like %@: write the value itself"),
        ("name == $name", 9, "there are no variables: write the value itself"),
        ("age == {3}", 8, "write IN before a list"),
        ("age == '3'", 8, "write a number, without quotation marks"),
        ("active == 'YES'", 11, "write YES or NO"),
        ("boss == 'Ann'", 9, "write the object's id, or compare an attribute of it"),
        ("phones.@count == '3'", 18, "write a number"),
        // Brackets and quotation marks that are not closed
        ("name == 'abc", 9, "the text that begins here has no closing '"),
        ("name == \"abc'", 9, "the text that begins here has no closing \""),
        ("age > 1 AND (age < 5", 21, "')' is expected here, not the end: it closes the bracket of column 13"),
        ("age IN {1, 2", 13, "it closes the bracket of column 8"),
        ("SELF IN SUBTREE(2", 18, "it closes the bracket of column 16"),
        ("name ==[c 'x'", 11, "it closes the bracket of column 8"),
        ("age > 5)", 8, "no bracket is open"),
    ])
    func faultsSayWhatToWrite(_ text: String, _ column: Int, _ message: String) {
        let error = #expect(throws: PredicateSyntaxError.self) { try self.predicate(text) }
        #expect(error?.column == column, "\(error!)")
        #expect(error?.message.contains(message) ?? false, "\(error!)")
    }

    /// A long text is refused at the part that is too much, before the rest is read.
    @Test func textsOfTooManyPartsAreRefusedAtThePart() {
        let parts = (0..<9_000).map { _ in "age>1" }.joined(separator: "||") + "|| nmae = 'x'"
        let error = #expect(throws: PredicateSyntaxError.self) { try self.predicate(parts) }
        #expect(error?.column == Limits.predicateNodesMax * 7 + 1, "\(error!)")
        #expect(error?.message.contains("over \(Limits.predicateNodesMax) parts") ?? false, "\(error!)")
        // 256 comparisons and the OR.
        let most = (0..<Limits.predicateNodesMax).map { "age == \($0)" }.joined(separator: " OR ")
        #expect(throws: PredicateSyntaxError.self) { try self.predicate(most) }
        let enough = (1..<Limits.predicateNodesMax).map { "age == \($0)" }.joined(separator: " OR ")
        #expect(throws: Never.self) { try self.predicate(enough) }
        let constants = (0..<4_000).map { _ in "TRUEPREDICATE" }.joined(separator: "||")
        let constant = #expect(throws: PredicateSyntaxError.self) { try self.predicate(constants) }
        #expect(constant?.column == Limits.predicateNodesMax * 15 + 1, "\(constant!)")
    }

    /// The words of a long text are not all read before the parser can refuse it.
    @Test func textsOfTooManyWordsAndSignsAreRefused() {
        let signs = String(repeating: "+", count: Limits.predicateTextBytesMax)
        let error = #expect(throws: PredicateSyntaxError.self) { try self.predicate(signs) }
        #expect(error?.message.contains("words and signs") ?? false, "\(error!)")
        let values = (1...Limits.predicateValuesMax).map { "-\($0)" }.joined(separator: ",")
        #expect(throws: Never.self) { try self.predicate("age IN {\(values)}") }
    }

    /// What other languages write and this one too.
    @Test(arguments: [
        ("name = nil", "name == nil"), ("name != null", "name != nil"), ("age <> 5", "age != 5"),
        ("age => 5 && age =< 9", "age <= 9 AND age >= 5"), ("! age > 5 or Not age < 9", "NOT age < 9 OR NOT age > 5"),
        ("name like 'a*'", "name LIKE \"a*\""), ("name LIKE '\\%a'", "name LIKE \"\\\\%a\""),
        ("name LIKE '%a*'", "name LIKE \"%a*\""), ("#any == 'x' AND #no == 5", "#no == 5 AND #any == \"x\""),
        ("#name == 'x'", "name == \"x\""), ("boss.no == 5", "boss.no == 5"),
        ("boss.#self == 'x'", "boss.self == \"x\""),
        ("NO == active", "active == NO"), ("ANY phones.yes == YES", "ANY phones.yes == YES"), ("-5 > age", "age < -5"),
        ("#Not == 'x' AND NOT #Not == 'y'", "#Not == \"x\" AND #Not != \"y\""), ("self == 4", "SELF == 4"),
    ])
    func theseFormsAreRead(_ text: String, _ canonical: String) throws {
        let predicate = try self.predicate(text)
        #expect(predicate.text(of: Self.person, in: Self.model) == canonical)
        #expect(try self.predicate(canonical) == predicate)
    }

    @Test(arguments: [
        ("name:x", 5, "after a colon write c (ignore case), d (ignore diacritics) or cd (both)"),
        ("name, age:desc", 11, "write -age for descending order, and age for ascending"),
        ("name DESC", 6, "write -name for descending order, and name for ascending"),
        ("age,  nmae", 7, "did you mean name?"),
        ("age, - nmae", 8, "did you mean name?"),
        ("phones.number", 1, "follow to-one relationships only, or count with phones.@count"),
        ("age, boss . nmae", 13, "did you mean name?"),
        ("-", 2, "a sort key is missing"),
        ("id", 1, "rows without a sort key are in the order of ids"),
        ("age,age,age,age,age,age,age,age, age", 34, "a request has at most 8 sort keys"),
    ])
    func faultsOfAnOrderSayWhatToWrite(_ text: String, _ column: Int, _ message: String) {
        let error = #expect(throws: PredicateSyntaxError.self) {
            try [OrderingTerm](text, of: Self.person, in: Self.model)
        }
        #expect(error?.column == column, "\(error!)")
        #expect(error?.message.contains(message) ?? false, "\(error!)")
        #expect(!(error?.message.contains("ANY") ?? true), "no sort key has a quantifier: \(error!)")
    }

    @Test func sortKeysIgnoreSpacesAndHaveTwoNamesForCase() throws {
        let one = try [OrderingTerm](" name : ci , - boss . age,#no ", of: Self.person, in: Self.model)
        #expect(one == (try [OrderingTerm]("name:c,-boss.age,no", of: Self.person, in: Self.model)))
        #expect(one.text(of: Self.person, in: Self.model) == "name:c,-boss.age,no")
        #expect(try SectionKey(" firstCharacter( name ) ", of: Self.person, in: Self.model).path == one[0].key.path)
    }

    /// A wire form that no text has, `LIKE "%a"`, is written so that it is read as the same predicate.
    @Test func percentSignsOfPatternsSurviveTheText() throws {
        var random = SeededRandom(seed: 32)
        for _ in 0..<5_000 {
            let pattern = (0..<random.below(6)).map { _ in random.pick(["%", "\\", "*", "a", "?", "%"]) }.joined()
            let folding = TextFolding(rawValue: UInt8(random.below(4)))
            let path = PropertyPath(leaf: .attribute(Self.person.attributes[0].number))
            let predicate = try #require(
                FetchPredicate(
                    Comparison(path: path, operator: .like, folding: folding, values: [.string(pattern)])
                ).canonical
            )
            #expect(predicate.canonical == predicate)
            let text = predicate.text(of: Self.person, in: Self.model)
            #expect(try self.predicate(text) == predicate, "seed 32: \(text)")
        }
    }
}

extension OrderingTerm.Key {
    fileprivate var path: PropertyPath? {
        if case .path(let path) = self { path } else { nil }
    }
}
