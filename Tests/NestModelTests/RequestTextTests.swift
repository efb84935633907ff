import NestModel
import NestTestSupport
import Testing

/// Predicates with variables, and the requests that a model names.
@Suite struct RequestTextTests {
    private func names(_ text: String) -> [String] {
        RequestText(text).variables.map { ([$0.name] + $0.path).joined(separator: ".") }
    }

    @Test(arguments: [
        ("owner == $FETCH_SOURCE", ["FETCH_SOURCE"]), ("a == $FETCH_SOURCE.b.c AND d < $E", ["FETCH_SOURCE.b.c", "E"]),
        ("a == '$no' AND b == \"\\\"$no\" AND c == $C", ["C"]), ("a == $A OR b == $A", ["A"]), ("a == 1", []), ("", []),
        ("SUBQUERY(a, $x, $x.b == $B AND $x == 1).@count > $C", ["B", "C"]),
        ("subquery ( a.b , $x , SUBQUERY($x.c, $y, $y.d IN {1, $D}).@count > 0).@count > 0", ["D"]), ("a == $", []),
    ])
    func variablesAreFound(_ text: String, _ expected: [String]) {
        #expect(self.names(text) == expected)
        #expect(RequestText(text).bound { "$\(([$0.name] + $0.path).joined(separator: "."))" } == text)
    }

    /// Random texts of known parts: the values are in the places of the variables, and nothing else changes.
    @Test func valuesTakeThePlacesOfVariables() {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var (text, expected) = ("", "")
            for _ in 0..<random.below(8) {
                switch random.below(5) {
                case 0:
                    let name = random.pick(["A", "FETCH_SOURCE", "FETCH_SOURCE.name", "B_2", "FETCH_SOURCE.a.b"])
                    text += "$\(name) "
                    expected += "<\(name)> "
                case 1:
                    let quoted = random.pick(["\"$A\"", "'$A'", "\"\\\"$A\"", "'\\\\'", "\"it's $B\""])
                    text += quoted
                    expected += quoted
                default:
                    let plain = random.pick(["a == ", " AND ", "(", ")", "{1, 2}", "é.b ", "SUBQUERIES ", "1.5 ", ". "])
                    text += plain
                    expected += plain
                }
            }
            let bound = RequestText(text).bound { "<\(([$0.name] + $0.path).joined(separator: "."))>" }
            #expect(bound == expected, "seed \(seed): \(text)")
        }
    }

    // MARK: Models

    private static func draft(_ requests: [RequestDraft]) -> ModelDraft {
        var user = EntityDraft(name: "User")
        user.attributes = [.named("name", .string), .named("age", .integer)]
        user.relationships = [.toMany("phones", "Phone", "user")]
        var phone = EntityDraft(name: "Phone")
        phone.attributes = [.named("number", .string)]
        phone.attributes[0].pattern = "[0-9 +]+"
        phone.relationships = [.toOne("user", "User", "phones")]
        return ModelDraft(entities: [user, phone], requests: requests)
    }

    private static func request(
        _ name: String,
        _ source: String?,
        _ entity: String,
        _ predicate: String,
        _ sort: String = ""
    ) -> RequestDraft {
        var request = RequestDraft(name: name, source: source, entity: entity)
        request.predicate = predicate
        request.sort = sort
        return request
    }

    @Test func bytesHaveRequestsAndExpressions() throws {
        let requests = [
            Self.request("older", "User", "User", "age > $FETCH_SOURCE.age", "-age,name:c"),
            Self.request("named", nil, "User", "name BEGINSWITH $NAME AND age IN {$A, 3} AND $A < age"),
            Self.request("all", nil, "Phone", ""),
            Self.request("others", "Phone", "Phone", "user == $FETCH_SOURCE.user AND SELF != $FETCH_SOURCE"),
        ]
        let model = try Self.draft(requests).compile()
        #expect(model.requests.map(\.name) == ["Phone.others", "User.older", "all", "named"])
        var writer = ByteWriter()
        writer.write(model: model)
        let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.model() }
        #expect(read == model && read.hash == model.hash)
        #expect(read.entity(named: "Phone")?.attributes.first?.pattern == "[0-9 +]+")
        // A model without either has the bytes of an earlier version.
        let plain = ManagedObjectModel(entities: try Self.draft([]).compile().entities.filter { $0.name == "User" })
        #expect(plain.patterns.isEmpty && plain.requests.isEmpty)
        for length in 0..<writer.bytes.count {
            _ = try? ByteReader.read(Array(writer.bytes[..<length])) { (reader) throws(DecodingFailure) in
                try reader.model()
            }
        }
    }

    @Test(
        arguments: [
            ("name == $FETCH_SOURCE.nmae", nil, "did you mean name?"),
            ("age == $FETCH_SOURCE.name", nil, "cannot be compared"),
            ("name == $FETCH_SOURCE.phones", nil, "leads to many"), ("nothing == 1", nil, "has no property 'nothing'"),
            ("age > $LEAST", "-nothing", "its sort keys '-nothing' cannot be read"),
            ("age >", nil, "a value is expected"),
        ] as [(String, String?, String)]
    )
    func aRequestThatCannotBeReadIsAFault(_ predicate: String, _ sort: String?, _ text: String) {
        let draft = Self.draft([Self.request("r", "User", "User", predicate, sort ?? "")])
        let error = #expect(throws: ModelFaults.self) { try draft.compile() }
        #expect(
            error?.description.contains("the request User.r: ") == true && error!.description.contains(text),
            "\(error!)"
        )
    }

    @Test func namesAndEntitiesAreChecked() {
        let drafts = [
            ([Self.request("r", nil, "Nowhere", "")], "its entity Nowhere is not in the model"),
            ([Self.request("r", "Nothing", "User", "")], "its entity Nothing is not in the model"),
            (
                [Self.request("r", nil, "User", ""), Self.request("r", nil, "Phone", "")],
                "the name is used more than once"
            ),
            ([Self.request("", nil, "User", "")], "a name has 1 to 256 bytes"),
            ([Self.request("r", nil, "User", "SELF == $FETCH_SOURCE")], "is for fetched properties"),
        ]
        for (requests, text) in drafts {
            let error = #expect(throws: ModelFaults.self) { try Self.draft(requests).compile() }
            #expect(error?.description.contains(text) == true, "\(error!)")
        }
    }

    @Test func requestsAndExpressionsOfAModelAreLimited() throws {
        func requests(_ count: Int) -> ModelDraft {
            Self.draft((0..<count).map { Self.request("r\($0)", nil, "User", "") })
        }
        _ = try requests(Limits.requestsPerModelMax).compile()
        let many = #expect(throws: ModelFaults.self) { try requests(Limits.requestsPerModelMax + 1).compile() }
        #expect(many?.description.contains("names more than \(Limits.requestsPerModelMax) requests") == true)
        func expressions(_ count: Int) -> ModelDraft {
            let each = Limits.propertiesPerEntityMax
            return ModelDraft(
                entities: stride(from: 0, to: count, by: each).map { start in
                    var entity = EntityDraft(name: "E\(start)")
                    entity.attributes = (start..<min(start + each, count)).map { .named("a\($0)", .string) }
                    for index in entity.attributes.indices { entity.attributes[index].pattern = "a" }
                    return entity
                }
            )
        }
        _ = try expressions(Limits.patternsPerModelMax).compile()
        let expressed = #expect(throws: ModelFaults.self) { try expressions(Limits.patternsPerModelMax + 1).compile() }
        #expect(expressed?.description.contains("more than \(Limits.patternsPerModelMax) regular expressions") == true)
    }

    @Test func changedRequestsAndExpressionsAreDifferences() throws {
        let old = try Self.draft([Self.request("a", nil, "User", ""), Self.request("b", nil, "User", "")]).compile()
        var draft = Self.draft([Self.request("b", nil, "User", "age > 1"), Self.request("c", nil, "User", "")])
        draft.entities[1].attributes[0].pattern = "x*"
        let new = try draft.compile().renumbered(like: old)
        let found = new.differences(from: old)
        #expect(
            found.map(\.text) == [
                "Phone.number must now match \"x*\"", "the request b changed", "the request c is new",
                "the request a is gone",
            ]
        )
        #expect(found.map(\.kind) == [.dependsOnData, .migratable, .migratable, .migratable])
    }
}
