import NestEngine
import NestModel
import NestTestSupport
import Testing

/// `Tests/Vectors/requests.json`: fetch requests as JSON, and their bytes.
@Suite struct RequestVectorTests {
    @Test func requestsAreAsInTheVectors() throws {
        let fixture = try EngineFixture(model: VectorWorld.model, isVolatile: true)
        let client = try fixture.connect(session: 1)
        try fixture.write(client, VectorWorld.mutations)
        func answer(_ request: ObjectFetchRequest) throws -> NestError? {
            try fixture.ask(client, .fetch(request, atLeast: Revision(0))).error
        }
        var file = VectorFile("requests", about: Self.about)
        file.add("model", VectorWorld.modelHex)
        file.add("entities", VectorWorld.names)
        file.add(
            "cases",
            JSONValue(
                list: try Self.written.map { written in
                    let request = try written.request
                    #expect(try answer(request) == nil, "\(written.name)")
                    return [
                        "name": .string(written.name), "names": written.json, "numbers": JSONValue(request),
                        "hex": .string(try Self.hex(request)),
                    ]
                }
            )
        )
        file.add(
            "refused",
            JSONValue(
                list: try Self.refused.map { name, request in
                    let error = try #require(try answer(request), "\(name)")
                    return [
                        "name": .string(name), "numbers": JSONValue(request), "hex": .string(try Self.hex(request)),
                        "code": .string("\(error.code)"),
                    ]
                }
            )
        )
        file.add("malformed", JSONValue(list: try Self.malformed.map(Self.vector)))
        if let difference = try file.difference() { Issue.record("\(difference)") }
    }

    private static let about = """
        Fetch requests (section 9 of protocol.md) of the model in model, whose names and numbers are in entities. cases: \
        names is the request as a program writes it, numbers the same with the numbers of the model, hex its bytes. \
        where, sort, columns and section are texts as nestc reads them; the predicate in numbers is its bytes. leaf: 0 \
        the object, 1 the attribute property, 2 the number of objects of the relationship property, 3 the function (1 \
        sum, 2 min, 3 max, 4 avg) of the attribute of its objects. folding: 1 for [c], 2 for [d], 3 for both. \
        Columns have the numbers 65280 and up in a projection. expansion is none, all, \
        asBefore or an attribute. refused: requests with correct \
        bytes that the server refuses with code, for a store with the objects of predicates.json. malformed: bytes that \
        a server refuses with code, because they are no fetch request.
        """

    /// Returns the bytes, which decode to an equal request.
    private static func hex(_ request: ObjectFetchRequest) throws -> String {
        var writer = ByteWriter()
        writer.write(fetchRequest: request)
        let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.fetchRequest() }
        #expect(read == request)
        return Hex.text(writer.bytes)
    }

    // MARK: Requests as text

    private struct Written {
        var name: String
        var entity = "Person"
        var of: (id: Int64, relationship: String)?
        var properties: [String] = []
        var sort = ""
        var `where` = ""
        var columns: [String] = []
        var section = ""
        var window: FetchWindow?
        /// The attribute of an expansion is a name here.
        var outline: (expansion: OutlineExpansion, attribute: String?, exceptions: [Int64])?

        var request: ObjectFetchRequest {
            get throws {
                let model = VectorWorld.model
                let entity = try #require(model.entity(named: self.entity))
                let owner = try self.of.map { of in
                    let all = model.entities.compactMap { $0.propertyNumber(named: of.relationship) }
                    return FetchSource(object: ObjectID(of.id), relationship: try #require(all.first))
                }
                return ObjectFetchRequest(
                    entity: entity.number,
                    source: owner,
                    projection: try self.properties.map { name in
                        if name == "entity" { return .entity }
                        if let column = self.columns.firstIndex(of: name) { return .computed(column) }
                        return try #require(entity.propertyNumber(named: name))
                    },
                    sort: try self.sort.isEmpty ? [] : [OrderingTerm](self.sort, of: entity, in: model),
                    predicate: try FetchPredicate(self.where, of: entity, in: model, dates: DateReading(now: 0)),
                    columns: try self.columns.map { try PropertyPath($0, of: entity, in: model) },
                    section: try self.section.isEmpty ? nil : SectionKey(self.section, of: entity, in: model),
                    window: self.window,
                    outline: try self.outline.map { expansion, attribute, exceptions in
                        let number = try attribute.map { try #require(entity.propertyNumber(named: $0)) }
                        return FetchOutline(
                            number.map { .attribute($0) } ?? expansion,
                            exceptions: exceptions.map { ObjectID($0) }
                        )
                    }
                )
            }
        }

        var json: JSONValue {
            var members: [String: JSONValue] = ["entity": .string(self.entity)]
            if let of { members["of"] = ["object": .integer(of.id), "relationship": .string(of.relationship)] }
            if !self.properties.isEmpty { members["properties"] = JSONValue(list: self.properties.map { .string($0) }) }
            if !self.sort.isEmpty { members["sort"] = .string(self.sort) }
            if !self.where.isEmpty { members["where"] = .string(self.where) }
            if !self.columns.isEmpty { members["columns"] = JSONValue(list: self.columns.map { .string($0) }) }
            if !self.section.isEmpty { members["section"] = .string(self.section) }
            if self.window != nil { members["window"] = JSONValue(self.window) }
            if let (expansion, attribute, exceptions) = self.outline {
                let named: JSONValue =
                    attribute.map { ["attribute": .string($0)] } ?? (expansion == .all ? "all" : "none")
                members["outline"] = [
                    "expansion": named, "exceptions": JSONValue(list: exceptions.map { .integer($0) }),
                ]
            }
            return .object(members)
        }
    }

    private static let written = [
        Written(name: "entity"), Written(name: "entity-below", entity: "Manager"),
        Written(name: "other", entity: "Tag"),
        Written(name: "children", of: (5, "team")), Written(name: "pairs", of: (1, "people")),
        Written(name: "pairs-turned", entity: "Tag", of: (5, "tags")),
        Written(name: "properties", properties: ["name", "age"]),
        Written(name: "properties-in-another-order", properties: ["age", "name", "boss", "entity"]),
        Written(name: "properties-twice", properties: ["name", "name"]),
        Written(name: "sort", properties: ["name"], sort: "name"), Written(name: "sort-descending", sort: "-age"),
        Written(name: "sort-folded", sort: "name:c,-name:d,any:cd"),
        Written(name: "sort-path", sort: "boss.name,-team.@count,boss.boss.age"),
        Written(name: "sort-eight-keys", sort: "name,age,level,year,score,-ratio,active,born"),
        Written(name: "order", of: (5, "team"), sort: "order"),
        Written(name: "order-of-a-condition", sort: "order", where: "boss == 5"),
        Written(name: "where", where: "age > 2"),
        Written(name: "where-everything", where: "TRUEPREDICATE"),
        Written(name: "where-nothing", where: "FALSEPREDICATE"),
        Written(name: "where-combined", where: "age > 2 AND (name CONTAINS[cd] \"n\" OR ANY team.active == YES)"),
        Written(name: "where-subtree", where: "SELF IN SUBTREE(5) AND NOT age IN {1, 2, nil}"),
        Written(name: "where-of-a-source", of: (5, "team"), where: "age == 0"),
        Written(
            name: "columns",
            properties: ["name", "boss.name", "tags.@count"],
            columns: ["boss.name", "tags.@count"]
        ),
        Written(name: "columns-all", columns: ["boss.boss.name", "boss.team.@count", "boss.boss"]),
        Written(name: "columns-one-of-two", properties: ["boss.age"], columns: ["boss.name", "boss.age"]),
        Written(name: "section-value", sort: "active", section: "active"),
        Written(name: "section-first-character", sort: "name:c", section: "firstCharacter(name)"),
        Written(name: "section-day", sort: "-born,name", section: "day(born)"),
        Written(name: "section-month", sort: "born", section: "month(born)"),
        Written(name: "section-year", sort: "boss.born", section: "year(boss.born)"),
        Written(name: "section-count", sort: "-team.@count", section: "team.@count"),
        Written(
            name: "functions",
            properties: ["name", "team.@sum.age", "boss.team.@avg.money", "tags.@min.title", "team.@max.born"],
            columns: ["team.@sum.age", "boss.team.@avg.money", "tags.@min.title", "team.@max.born"]
        ),
        Written(name: "sort-function", sort: "-team.@avg.age,phones.@max.number:c"),
        Written(name: "section-function", sort: "team.@max.born", section: "year(team.@max.born)"),
        Written(name: "window", window: .range(offset: 100, limit: 20)),
        Written(name: "window-of-no-rows", window: .range(offset: 0, limit: 0)),
        Written(name: "window-around", sort: "name", window: .around(ObjectID(5), before: 5, after: 10)),
        Written(name: "window-far", window: .range(offset: 1_073_741_824, limit: 1_000)),
        Written(
            name: "outline-folded",
            of: (5, "team"),
            window: .range(offset: 0, limit: 100),
            outline: (.none, nil, [])
        ),
        Written(
            name: "outline-unfolded-except",
            of: (5, "team"),
            properties: ["name", "boss.name"],
            where: "age != 7",
            columns: ["boss.name"],
            window: .around(ObjectID(6), before: 5, after: 10),
            outline: (.all, nil, [8, 6, 9_007])
        ),
        Written(
            name: "outline-by-attribute",
            of: (5, "team"),
            window: .range(offset: 100, limit: 1_000),
            outline: (.none, "active", [6])
        ),
        Written(
            name: "all-fields",
            of: (5, "team"),
            properties: ["name", "boss.name"],
            sort: "name:c,-age",
            where: "name LIKE[d] \"*n\" OR money >= 2.50",
            columns: ["boss.name"],
            section: "firstCharacter(name)",
            window: .range(offset: 1, limit: 50)
        ),
    ]

    // MARK: Refused requests

    private static let refused: [(String, ObjectFetchRequest)] = {
        let person = VectorWorld.person.number
        func property(_ name: String) -> PropertyNumber { VectorWorld.person.propertyNumber(named: name)! }
        func path(_ steps: [String], _ name: String) -> PropertyPath {
            PropertyPath(steps: steps.map(property), leaf: .attribute(property(name)))
        }
        func function(_ function: AggregateFunction, _ relationship: String, _ name: String) -> PropertyPath {
            PropertyPath(leaf: .aggregate(function, property(relationship), property(name)))
        }
        let average = function(.average, "team", "age")
        func where_(_ symbol: Comparison.Operator, _ values: [AttributeValue], _ path: PropertyPath)
            -> ObjectFetchRequest
        {
            ObjectFetchRequest(
                entity: person,
                predicate: FetchPredicate(Comparison(path: path, operator: symbol, values: values))
            )
        }
        func sorted(_ terms: [OrderingTerm], _ section: SectionKey? = nil) -> ObjectFetchRequest {
            ObjectFetchRequest(entity: person, sort: terms, section: section)
        }
        func outline(_ change: (inout ObjectFetchRequest) -> Void) -> ObjectFetchRequest {
            var request = ObjectFetchRequest(
                entity: person,
                source: FetchSource(object: ObjectID(5), relationship: property("team")),
                window: .range(offset: 0, limit: 10),
                outline: FetchOutline()
            )
            change(&request)
            return request
        }
        return [
            ("unknown-entity", ObjectFetchRequest(entity: EntityNumber(999))),
            ("unknown-property", ObjectFetchRequest(entity: person, projection: [PropertyNumber(999)])),
            ("to-many-property", ObjectFetchRequest(entity: person, projection: [property("team")])),
            ("unknown-column", ObjectFetchRequest(entity: person, projection: [.computed(0)])),
            ("column-of-many", ObjectFetchRequest(entity: person, columns: [path(["team"], "name")])),
            ("column-of-itself", ObjectFetchRequest(entity: person, columns: [PropertyPath(leaf: .object)])),
            (
                "source-that-does-not-exist",
                ObjectFetchRequest(
                    entity: person,
                    source: FetchSource(object: ObjectID(99_999), relationship: property("team"))
                )
            ),
            (
                "source-to-one",
                ObjectFetchRequest(
                    entity: person,
                    source: FetchSource(object: ObjectID(5), relationship: property("boss"))
                )
            ),
            (
                "source-of-another-entity",
                ObjectFetchRequest(
                    entity: person,
                    source: FetchSource(object: ObjectID(5), relationship: property("phones"))
                )
            ),
            ("sort-unknown", sorted([OrderingTerm(PropertyNumber(999))])),
            ("sort-many", sorted([OrderingTerm(key: .path(path(["team"], "name")))])),
            ("sort-object", sorted([OrderingTerm(key: .path(PropertyPath(steps: [property("boss")], leaf: .object)))])),
            ("sort-number-folded", sorted([OrderingTerm(property("age"), folding: .caseInsensitive)])),
            ("order-without-a-list", sorted([.order])),
            (
                "order-descending",
                ObjectFetchRequest(
                    entity: person,
                    source: FetchSource(object: ObjectID(5), relationship: property("team")),
                    sort: [OrderingTerm(key: .order, isAscending: false)]
                )
            ),
            (
                "order-and-another-key",
                ObjectFetchRequest(
                    entity: person,
                    source: FetchSource(object: ObjectID(5), relationship: property("team")),
                    sort: [.order, OrderingTerm(property("name"))]
                )
            ),
            ("depth-without-an-outline", ObjectFetchRequest(entity: person, projection: [.outlineDepth])),
            ("outline-without-a-source", outline { $0.source = nil }),
            ("outline-without-a-window", outline { $0.window = nil }),
            ("outline-of-1001-rows", outline { $0.window = .around(ObjectID(6), before: 500, after: 500) }),
            ("outline-sorted", outline { $0.sort = [OrderingTerm(property("name"))] }),
            (
                "outline-of-pairs",
                outline {
                    $0.entity = VectorWorld.model.entity(named: "Tag")!.number
                    $0.source?.relationship = property("tags")
                }
            ),
            ("outline-as-before-of-no-view", outline { $0.outline = FetchOutline(.asBefore) }),
            ("outline-by-a-text", outline { $0.outline = FetchOutline(.attribute(property("name"))) }),
            ("outline-by-an-unknown-attribute", outline { $0.outline = FetchOutline(.attribute(PropertyNumber(999))) }),
            (
                "outline-where-count",
                outline {
                    let path = PropertyPath(leaf: .count(property("team")))
                    $0.predicate = FetchPredicate(Comparison(path: path, operator: .equal, values: [.integer(1)]))
                }
            ),
            ("outline-around-no-row", outline { $0.window = .around(ObjectID(15), before: 1, after: 1) }),
            ("section-without-a-sort-key", sorted([], SectionKey(of: property("name")))),
            ("section-of-another-key", sorted([OrderingTerm(property("age"))], SectionKey(of: property("name")))),
            ("section-day-of-a-text", sorted([OrderingTerm(property("name"))], SectionKey(.day, of: property("name")))),
            (
                "function-sum-of-a-text",
                ObjectFetchRequest(entity: person, columns: [function(.sum, "team", "name")])
            ),
            (
                "function-of-to-one",
                ObjectFetchRequest(entity: person, columns: [function(.maximum, "boss", "age")])
            ),
            (
                "function-of-a-relationship",
                ObjectFetchRequest(entity: person, columns: [function(.maximum, "team", "boss")])
            ),
            ("section-of-an-average", sorted([OrderingTerm(key: .path(average))], SectionKey(.value, of: average))),
            ("where-a-sum-of-texts", where_(.greater, [.integer(1)], function(.sum, "team", "name"))),
            ("section-of-a-decimal", sorted([OrderingTerm(property("money"))], SectionKey(of: property("money")))),
            (
                "where-unknown-property",
                where_(.equal, [.integer(1)], PropertyPath(leaf: .attribute(PropertyNumber(999))))
            ),
            ("where-wrong-type", where_(.equal, [.string("x")], path([], "age"))),
            ("where-many-without-a-quantifier", where_(.equal, [.string("x")], path(["team"], "name"))),
            ("where-between-one-value", where_(.between, [.integer(1)], path([], "age"))),
            ("where-decimal-not-canonical", where_(.equal, [.string("1.50")], path([], "money"))),
            ("where-contains-of-a-number", where_(.contains, [.string("1")], path([], "age"))),
            ("where-regular-expression", where_(.matches, [.string("(")], path([], "name"))),
            (
                "window-around-no-object",
                ObjectFetchRequest(
                    entity: person,
                    window: .around(ObjectID(99_999), before: 1, after: 1)
                )
            ),
            (
                "window-around-another-entity",
                ObjectFetchRequest(
                    entity: person,
                    window: .around(ObjectID(1), before: 1, after: 1)
                )
            ),
        ]
    }()

    /// Bytes, with spaces for the reader. The entity is 1.
    private static let malformed = [
        ("empty", ""), ("no-fields", "01"), ("entity-over-16-bits", "80010000 00"),
        ("field-cut-short", "01 01 02 02 01"),
        ("fields-descending", "01 02 07020001 0200"), ("field-twice", "01 02 020101 020101"),
        ("unknown-field", "01 01 0f00"),
        ("field-0", "01 01 0000"), ("seventeen-fields", "01 11"), ("left-over-in-a-field", "01 01 0203010100"),
        ("source-object-0", "01 01 01020006"), ("two-windows", "01 02 07020001 0803050101"),
        ("window-cut-short", "01 01 070100"), ("nine-sort-keys", "01 01 030109"),
        ("unknown-sort-flag", "01 01 030510000001 01"),
        ("unknown-leaf", "01 01 0304 01000004"), ("unknown-function", "01 01 060406000101"),
        ("unknown-path-function", "01 01 0306 010000030511"), ("path-function-0", "01 01 0306 010000030011"),
        ("path-of-four-steps-and-a-function", "01 01 030b 0100040101010103011102"),
        ("path-of-five-steps", "01 01 0309 010005010101010100"),
        ("predicate-stack-empty", "01 01 04020103"), ("predicate-two-values-left", "01 01 0403020101"),
        ("predicate-and-of-one", "01 01 0404 02010401"), ("predicate-unknown-node", "01 01 04020106"),
        ("predicate-too-many-nodes", "01 01 04024101"), ("predicate-left-over", "01 01 0403010101"),
        ("columns-over-their-limit", "01 01 05024041"),
        ("outline-cut-short", "01 01 09020000"), ("outline-unknown-expansion", "01 01 0903040000"),
        ("outline-attribute-of-all", "01 01 0903010300"), ("outline-as-before-except", "01 01 090403000105"),
        ("outline-exception-0", "01 01 090400000100"), ("outline-left-over", "01 01 090400000000"),
        ("outline-too-many-exceptions", "01 01 0906000080010001"),
    ]

    private static func vector(_ name: String, _ hex: String) throws -> JSONValue {
        let bytes = try Hex.bytes(hex)
        do {
            _ = try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.fetchRequest() }
        } catch let failure as DecodingFailure {
            return ["name": .string(name), "hex": .string(Hex.text(bytes)), "code": .string("\(failure.code)")]
        }
        Issue.record("\(name) is accepted")
        return .null
    }
}
