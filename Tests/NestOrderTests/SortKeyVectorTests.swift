import NestModel
import NestOrder
import NestTestSupport
import Testing

/// `Tests/Vectors/sortkeys.json`: the order of values, and the keys of their sections.
@Suite struct SortKeyVectorTests {
    @Test func ordersAndSectionsAreAsInTheVectors() throws {
        var file = VectorFile("sortkeys", about: Self.about)
        file.add("orders", JSONValue(list: Self.orders.map(Self.vector)))
        file.add("sections", JSONValue(list: Self.sections.map(Self.vector)))
        if let difference = try file.difference() { Issue.record("\(difference)") }
    }

    private static let about = """
        Orders and sections. orders: terms are the sort keys (type: a name of section 9 of protocol.md; folding: 1 for \
        [c], 2 for [d], 3 for both). groups is the ascending order of rows: the rows of a group are equal by all terms, \
        so their ids order them, and each row is before the rows of all later groups. A row has a value for each term. \
        sections: of values of the type, the key of the section by the function, in an order with that folding. Stored \
        values only: a double is never -0, a decimal is canonical.
        """

    private struct Term {
        var type: AttributeType
        var isDescending = false
        var folding: TextFolding = []

        func compiled(isAlone: Bool) -> OrderTerm {
            OrderTerm(
                OrderTerm.Form(self.type, isOptional: true, isAlone: isAlone),
                isAscending: !self.isDescending,
                folding: self.folding,
                isDate: self.type == .date
            )
        }

        var json: JSONValue {
            [
                "type": .string("\(self.type)"), "descending": .bool(self.isDescending),
                "folding": .integer(Int64(self.folding.rawValue)),
            ]
        }
    }

    private static let texts: [AttributeValue] = [
        .null, .string(""), .string("\u{1}"), .string(" "), .string("A"), .string("AB"), .string("Z"), .string("a"),
        .string("aa"), .string("ab"), .string("\u{c4}"), .string("A\u{308}"), .string("\u{e4}"), .string("stra\u{df}e"),
        .string("STRASSE"), .string("\u{3c2}"), .string("\u{3c3}"), .string("\u{ffff}"), .string("\u{10000}"),
        .string("\u{1f600}"),
    ]
    private static let values: [(type: AttributeType, values: [AttributeValue])] = [
        (.string, Self.texts),
        (.uri, [.null, .string("https://a"), .string("https://b"), .string("urn:x")]),
        (
            .integer,
            [
                .null, .integer(.min), .integer(-9_007_199_254_740_993), .integer(-256), .integer(-1), .integer(0),
                .integer(255), .integer(9_007_199_254_740_992), .integer(9_007_199_254_740_993), .integer(.max),
            ]
        ),
        (.integer16, [.null, .integer(-32_768), .integer(0), .integer(32_767)]),
        (.integer32, [.null, .integer(-2_147_483_648), .integer(0), .integer(2_147_483_647)]),
        (
            .double,
            [
                .null, .double(-.infinity), .double(-1e300), .double(-1.5), .double(-.leastNonzeroMagnitude),
                .double(0),
                .double(.leastNonzeroMagnitude), .double(0.1), .double(2), .double(.infinity),
            ]
        ),
        (.float, [.null, .double(-2), .double(Double(Float(0.1))), .double(0.5)]),
        (.boolean, [.null, .boolean(false), .boolean(true)]),
        (.date, [.null, .date(.min), .date(-1), .date(0), .date(1_769_900_400_000_000), .date(.max)]),
        (
            .data,
            [
                .null, .data([]), .data([0]), .data([0, 0]), .data([0, 255]), .data([1]), .data([255]),
                .data([255, 0]),
            ]
        ),
        (
            .uuid,
            [
                .null, .uuid(Identifier128(high: 0, low: 1)), .uuid(Identifier128(high: 1, low: 0)),
                .uuid(Identifier128(high: .max, low: 0)),
            ]
        ),
        (
            .decimal,
            [
                "-100", "-12.5", "-12.05", "-0.001", "0", "0.001", "0.01", "1", "1.5", "9", "10", "10.01",
                "123456789012345678901234567890.12345678",
            ].reduce(into: [.null]) { $0.append(.string($1)) }
        ),
    ]

    // MARK: Orders

    private static let orders: [(name: String, terms: [Term], rows: [[AttributeValue]])] = {
        var orders: [(name: String, terms: [Term], rows: [[AttributeValue]])] = []
        for (type, values) in Self.values {
            for isDescending in [false, true] {
                let term = Term(type: type, isDescending: isDescending)
                orders.append(("\(type)\(isDescending ? "-descending" : "")", [term], values.map { [$0] }))
            }
        }
        for (name, folding) in [
            ("c", .caseInsensitive), ("d", .diacriticInsensitive),
            ("cd", [.caseInsensitive, .diacriticInsensitive]),
        ] as [(String, TextFolding)] {
            let term = Term(type: .string, isDescending: name == "d", folding: folding)
            orders.append(("string-\(name)", [term], Self.texts.map { [$0] }))
        }
        let several: [[AttributeValue]] = [AttributeValue.null, .string("a"), .string("A"), .string("ab")].flatMap {
            text in
            [AttributeValue.null, .integer(-1), .integer(2)].map { [text, $0, .string("x")] }
        }
        orders.append(
            (
                "folded-then-number-descending",
                [Term(type: .string, folding: .caseInsensitive), Term(type: .integer, isDescending: true)],
                several.map { Array($0.prefix(2)) }
            )
        )
        orders.append(
            (
                "number-then-folded-then-exact",
                [
                    Term(type: .integer, isDescending: true),
                    Term(type: .string, isDescending: true, folding: .caseInsensitive),
                    Term(type: .string),
                ],
                several.map { [$0[1], $0[0], $0[0]] }
            )
        )
        return orders
    }()

    private static func vector(_ order: (name: String, terms: [Term], rows: [[AttributeValue]])) -> JSONValue {
        let terms = order.terms.map { $0.compiled(isAlone: order.terms.count == 1) }
        var writer = SortKeyWriter()
        let keys = order.rows.map { values in
            for (value, term) in zip(values, terms) { writer.write(value, term) }
            return writer.take()
        }
        for a in order.rows.indices {
            for b in order.rows.indices {
                let isBefore = Self.precedes(order.rows[a], order.rows[b], order.terms)
                #expect((keys[a] < keys[b]) == isBefore, "\(order.name): \(order.rows[a]), \(order.rows[b])")
            }
        }
        var groups: [[Int]] = []
        for index in keys.indices.sorted(by: { (keys[$0], $0) < (keys[$1], $1) }) {
            if let last = groups.last?.last, keys[last] == keys[index] {
                groups[groups.count - 1].append(index)
            } else {
                groups.append([index])
            }
        }
        return [
            "name": .string(order.name), "terms": JSONValue(list: order.terms.map(\.json)),
            "groups": JSONValue(
                list: groups.map { group in
                    JSONValue(list: group.map { JSONValue(list: order.rows[$0].map { JSONValue($0) }) })
                }
            ),
        ]
    }

    /// The order by the contract.
    private static func precedes(_ a: [AttributeValue], _ b: [AttributeValue], _ terms: [Term]) -> Bool {
        for (index, term) in terms.enumerated() {
            if Self.precedes(a[index], b[index], term) { return !term.isDescending }
            if Self.precedes(b[index], a[index], term) { return term.isDescending }
        }
        return false
    }

    private static func precedes(_ a: AttributeValue, _ b: AttributeValue, _ term: Term) -> Bool {
        switch (a, b) {
        case (.null, _): !b.isNull
        case (_, .null): false
        case (.integer(let a), .integer(let b)), (.date(let a), .date(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        case (.boolean(let a), .boolean(let b)): !a && b
        case (.string(let a), .string(let b)):
            term.type == .decimal
                ? DecimalText.isLess(a, b)
                : term.folding.fold(a).utf8.lexicographicallyPrecedes(term.folding.fold(b).utf8)
        case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b)
        case (.uuid(let a), .uuid(let b)): a.hex.utf8.lexicographicallyPrecedes(b.hex.utf8)
        default: false
        }
    }

    // MARK: Sections

    private static let moments: [AttributeValue] = [
        .null, .date(0), .date(-1), .date(1_769_900_400_000_000), .date(1_767_225_599_999_999),
        .date(1_767_225_600_000_000),
        .date(951_782_400_000_000), .date(253_402_300_799_999_999), .date(253_402_300_800_000_000),
        .date(-62_135_596_800_000_000),
        .date(-62_167_219_200_000_000), .date(-62_167_219_200_000_001), .date(-63_000_000_000_000_000), .date(.max),
        .date(.min),
    ]

    private static let sections: [(term: Term, function: SectionKey.Function, values: [AttributeValue])] = {
        var sections: [(term: Term, function: SectionKey.Function, values: [AttributeValue])] = []
        for (type, values) in Self.values {
            for function in Sectioning.functions(of: type) {
                let values = type == .date ? Self.moments : values
                sections.append((Term(type: type), function, values))
                guard type == .string else { continue }
                for folding in 1...3 as ClosedRange<UInt8> {
                    sections.append(
                        (Term(type: type, folding: TextFolding(rawValue: folding)), function, Self.initials)
                    )
                }
            }
        }
        return sections
    }()

    private static let initials =
        Self.texts
        + [
            "\u{df}a", "\u{fb01}n", "\u{130}s", "\u{131}x", "i\u{307}", "\u{3c3}x", "\u{1c6}", "\u{301}a", "9",
            "\u{10428}",
        ].map { .string($0) }

    private static func vector(_ section: (term: Term, function: SectionKey.Function, values: [AttributeValue]))
        -> JSONValue
    {
        func key(_ value: AttributeValue, isDescending: Bool, isAlone: Bool) -> AttributeValue {
            var term = section.term
            term.isDescending = isDescending
            let first = term.compiled(isAlone: isAlone)
            let sectioning = Sectioning(function: section.function, term: first, isAlone: isAlone)
            var writer = SortKeyWriter()
            writer.write(value, first)
            if !isAlone { writer.write(.integer(7), Term(type: .integer).compiled(isAlone: false)) }
            return sectioning.name(of: sectioning.start(of: writer.take()))
        }
        let keys = section.values.map { value in
            let found = key(value, isDescending: false, isAlone: true)
            // Neither the direction nor later keys change it.
            #expect(key(value, isDescending: true, isAlone: true) == found, "\(section.function) of \(value)")
            #expect(key(value, isDescending: true, isAlone: false) == found, "\(section.function) of \(value)")
            #expect(NaiveSections.name(section.function, section.term.folding, value) == found, "\(value)")
            return found
        }
        return [
            "type": .string("\(section.term.type)"), "folding": .integer(Int64(section.term.folding.rawValue)),
            "function": .string(section.function.name), "number": .integer(Int64(section.function.rawValue)),
            "values": JSONValue(
                list: zip(section.values, keys).map { ["value": JSONValue($0), "key": JSONValue($1)] }
            ),
        ]
    }
}
