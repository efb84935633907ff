import NestModel
import Testing

/// The stored form of values of each type, through a store and back.
@Suite struct AttributeFormTests {
    private func store() throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "All",
                [
                    AttributeDraft("price", .decimal), AttributeDraft("ratio", .float), AttributeDraft("real", .double),
                    AttributeDraft("link", .uri), AttributeDraft("small", .integer16),
                    AttributeDraft("middle", .integer32),
                    AttributeDraft("made", .date) { $0.defaultsToNow = true },
                    AttributeDraft("state") { $0.defaultValue = .string("new") },
                    AttributeDraft("rank", .integer) {
                        $0.isOptional = true
                        $0.defaultValue = .integer(5)
                    },
                    AttributeDraft("bounded", .float) {
                        $0.isOptional = true
                        $0.minimum = .double(0.1)
                        $0.maximum = .double(0.3)
                    },
                    AttributeDraft("short") {
                        $0.isOptional = true
                        $0.minimum = .integer(1)
                        $0.maximum = .integer(3)
                    },
                ]
            )
        )
    }

    @Test(arguments: [
        ("12.50", "12.5"), ("+007", "7"), ("-0.00", "0"), (".5", "0.5"), ("5.", "5"), ("1e3", "1000"),
        ("12e-3", "0.012"),
        ("-1.0E+2", "-100"), ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
    ])
    func decimalsAreStoredInCanonicalForm(_ text: String, _ kept: String) throws {
        let store = try self.store()
        let id = try store.insert("All", ["price": .value(.string(text))])
        #expect(try store.value(id, "price") == .string(kept))
        let head = store.head
        try store.update(id, ["price": .value(.string(kept))])
        #expect(store.head == head, "the same number is no change")
    }

    @Test func invalidDecimalsAndURIsAreRefused() throws {
        let store = try self.store()
        for text in ["", "-", ".", "1.2.3", "1e", "e5", "1 ", "0x1", "1e38", "NaN"] {
            expectRefusal(.invalidText) { _ = try store.insert("All", ["price": .value(.string(text))]) }
        }
        for text in ["", "a b", "\u{e9}", "a\0", "<x>"] {
            expectRefusal(.invalidText) { _ = try store.insert("All", ["link": .value(.string(text))]) }
        }
        let id = try store.insert("All", ["link": "http://a.b/c?d=%20#e"])
        #expect(try store.value(id, "link") == .string("http://a.b/c?d=%20#e"))
    }

    @Test func numbersAreRoundedToTheirTypeOrRefused() throws {
        let store = try self.store()
        let id = try store.insert("All", ["ratio": 0.1, "real": -0.0, "small": -32_768, "middle": 2_147_483_647])
        #expect(try store.value(id, "ratio") == .double(Double(Float(0.1))))
        #expect(try store.value(id, "real") == .double(0.0))
        let head = store.head
        try store.update(id, ["ratio": 0.1, "real": 0.0])
        #expect(store.head == head)
        for (name, value) in [("small", 32_768), ("middle", 2_147_483_648)] as [(String, Int64)] {
            #expect(
                try store.faults(store.edit(.object(id), "All", [name: .value(.integer(value))])) == [
                    "All.\(name) range"
                ]
            )
        }
        #expect(
            try store.faults(store.edit(.object(id), "All", ["ratio": 1e39, "real": "x"])) == [
                "All.ratio range", "All.real type",
            ]
        )
        expectRefusal(.invalidText) { try store.update(id, ["real": .value(.double(.nan))]) }
    }

    /// A bound is rounded like the values, and is itself allowed.
    @Test func attributeBoundsAreInclusive() throws {
        let store = try self.store()
        for value in [0.1, 0.2, 0.3] as [MutationValue] { _ = try store.insert("All", ["bounded": value]) }
        for value in [0.0999, 0.3001] as [MutationValue] {
            #expect(try store.faults(store.insertion("All", ["bounded": value])) == ["All.bounded range"])
        }
        // Lengths of text are counted in UTF-16, as in Core Data.
        _ = try store.insert("All", ["short": "\u{1f600}x"])
        for text in ["", "\u{1f600}\u{1f600}", "abcd"] {
            #expect(try store.faults(store.insertion("All", ["short": .value(.string(text))])) == ["All.short range"])
        }
    }

    /// Only an insert that does not set a value gets the default. An undo restores the old values.
    @Test func defaultsApplyToInsertsWithoutAValue() throws {
        let store = try self.store()
        let id = try store.insert("All")
        #expect(try store.value(id, "made") == .date(store.fixture.time))
        #expect(try store.value(id, "state") == .string("new") && store.value(id, "rank") == .integer(5))
        try store.update(id, ["rank": nil, "state": "old"])
        #expect(try store.value(id, "rank") == .null)
        #expect(try store.value(try store.insert("All", ["rank": nil, "made": .value(.date(3))]), "rank") == .null)
        #expect(
            try store.faults(store.insertion("All", ["state": nil, "made": nil])) == [
                "All.made required", "All.state required",
            ]
        )
        let before = try store.graph()
        try store.delete(id)
        try store.fixture.revert(store.head)
        #expect(try store.graph() == before)
    }
}
