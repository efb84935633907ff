import Foundation
import NestClient
import Testing

/// Decodable structures made of rows.
@Suite struct RowDecoderTests {
    private enum Kind: String, Decodable { case letter, parcel }

    private struct Parcel: Decodable, RowDecodable, Equatable {
        struct Owner: Decodable, Equatable {
            var name: String
            var age: UInt8?
        }

        var id: ObjectID
        var kind: Kind
        var weight: Float
        var count: UInt16
        var sent: Date?
        var label: Data
        var key: UUID
        var price: Decimal
        var owner: Owner?
        var carrier: ObjectID?
    }

    private static let parcel: NamedEntity = {
        let owner = EntityDescription(
            number: 1,
            name: "Person",
            attributes: [
                AttributeDescription(number: 1, name: "name", type: .string),
                AttributeDescription(number: 2, name: "age", type: .integer16, isOptional: true),
            ],
            relationships: [
                RelationshipDescription(
                    number: 3,
                    name: "parcels",
                    destination: 2,
                    inverse: 8,
                    isToMany: true,
                    deleteRule: .nullify
                ),
                RelationshipDescription(
                    number: 4,
                    name: "carried",
                    destination: 2,
                    inverse: 9,
                    isToMany: true,
                    deleteRule: .nullify
                ),
            ]
        )
        let parcel = EntityDescription(
            number: 2,
            name: "Parcel",
            attributes: [
                AttributeDescription(number: 1, name: "kind", type: .string),
                AttributeDescription(number: 2, name: "weight", type: .float),
                AttributeDescription(number: 3, name: "count", type: .integer),
                AttributeDescription(number: 4, name: "sent", type: .date, isOptional: true),
                AttributeDescription(number: 5, name: "label", type: .data),
                AttributeDescription(number: 6, name: "key", type: .uuid),
                AttributeDescription(number: 7, name: "price", type: .decimal),
            ],
            relationships: [
                RelationshipDescription(number: 8, name: "owner", destination: 1, inverse: 3, deleteRule: .nullify),
                RelationshipDescription(number: 9, name: "carrier", destination: 1, inverse: 4, deleteRule: .nullify),
            ]
        )
        return NamedEntity(parcel, in: ManagedObjectModel(entities: [owner, parcel]))
    }()

    private static let names = [
        "kind", "weight", "count", "sent", "label", "key", "price", "carrier", "owner.name", "owner.age",
    ]

    /// A row whose values are given in the order of the wire: stored properties, then paths.
    private func row(_ changes: [String: AttributeValue] = [:]) throws -> FetchedRow {
        var values: [String: AttributeValue] = [
            "kind": .string("parcel"), "weight": .double(1.5), "count": .integer(3), "sent": .date(1_500_000),
            "label": .data([1, 2]), "key": .uuid(Identifier128(high: 0, low: 7)), "price": .string("2.5"),
            "carrier": .reference(ObjectID(9)), "owner.name": .string("Ann"), "owner.age": .integer(40),
        ]
        for (name, value) in changes { values[name] = value }
        let request = try Self.parcel.request(properties: Self.names)
        let names = request.named(Row(id: ObjectID(5), values: [])).names
        return request.named(Row(id: ObjectID(5), values: names.map { values[$0] ?? .null }))
    }

    @Test func columnsAreKeysAndPathsAreStructures() throws {
        let parcel = try Parcel(row: self.row())
        #expect(
            parcel
                == Parcel(
                    id: ObjectID(5),
                    kind: .parcel,
                    weight: 1.5,
                    count: 3,
                    sent: Date(timeIntervalSince1970: 1.5),
                    label: Data([1, 2]),
                    key: UUID(uuidString: "00000000-0000-0000-0000-000000000007")!,
                    price: 2.5,
                    owner: Parcel.Owner(name: "Ann", age: 40),
                    carrier: ObjectID(9)
                )
        )
    }

    @Test func nullIsNilAndNoRelatedObjectIsNoStructure() throws {
        let none = try Parcel(
            row: self.row(["sent": .null, "carrier": .null, "owner.name": .null, "owner.age": .null])
        )
        #expect(none.sent == nil && none.carrier == nil && none.owner == nil)
        #expect(try Parcel(row: self.row(["owner.age": .null])).owner == Parcel.Owner(name: "Ann", age: nil))
    }

    @Test func aValueThatDoesNotFitNamesItsKey() throws {
        let null = #expect(throws: DecodingError.self) { try Parcel(row: self.row(["weight": .null])) }
        guard case .valueNotFound(_, let context)? = null else {
            Issue.record("\(String(describing: null))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["weight"])
        let negative = #expect(throws: DecodingError.self) { try Parcel(row: self.row(["count": .integer(-1)])) }
        guard case .typeMismatch(_, let context)? = negative else {
            Issue.record("\(String(describing: negative))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["count"])
        #expect(context.debugDescription == "the value is integer, not UInt16")
        #expect(throws: DecodingError.self) { try Parcel(row: self.row(["kind": .string("pigeon")])) }
        let deep = #expect(throws: DecodingError.self) { try Parcel(row: self.row(["owner.age": .integer(300)])) }
        guard case .typeMismatch(_, let context)? = deep else {
            Issue.record("\(String(describing: deep))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["owner", "age"])
    }

    @Test func aKeyThatTheRequestLacksIsNamed() throws {
        struct Other: Decodable { var titel: String }
        let row = try Self.parcel.request(properties: ["kind", "count"]).named(
            Row(id: ObjectID(1), values: [.string("letter"), .integer(1)])
        )
        let error = #expect(throws: DecodingError.self) { try row.decode(Other.self) }
        guard case .keyNotFound(let key, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(key.stringValue == "titel")
        #expect(context.debugDescription == "the rows have no 'titel'; they have kind, count")
    }

    /// A wrong value must not become nil where the type asks for an Optional itself.
    @Test func anOptionalThatIsAskedForIsNoExcuse() throws {
        struct Asking: Decodable {
            var sent: Date?
            enum Keys: String, CodingKey { case sent }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                self.sent = try container.decode(Date?.self, forKey: .sent)
            }
        }
        #expect(try self.row().decode(Asking.self).sent == Date(timeIntervalSince1970: 1.5))
        #expect(try self.row(["sent": .null]).decode(Asking.self).sent == nil)
        #expect(throws: DecodingError.self) { try self.row(["sent": .string("now")]).decode(Asking.self) }
        let pair = Row(id: ObjectID(1), values: [.string("letter"), .integer(1)])
        let row = try Self.parcel.request(properties: ["kind", "count"]).named(pair)
        #expect(throws: DecodingError.self) { try row.decode([String: Int?].self) }
    }

    @Test func aTypeThatWrapsAnotherIsDecoded() throws {
        struct Wrapped: Decodable {
            var parcel: Parcel
            init(from decoder: any Decoder) throws {
                self.parcel = try decoder.singleValueContainer().decode(Parcel.self)
            }
        }
        #expect(try self.row().decode(Wrapped.self).parcel == Parcel(row: self.row()))
        #expect(try self.row().decode(Parcel?.self) == Parcel(row: self.row()))
        #expect(throws: DecodingError.self) { try self.row().decode(Int.self) }
        #expect(throws: DecodingError.self) { try self.row().decode(UInt64.self) }
    }

    /// A row of a peer, or of another request, never ends the program.
    @Test func aRowWithFewerValuesHasNulls() throws {
        let row = try Self.parcel.request(properties: ["kind", "count"]).named(Row(id: ObjectID(1), values: []))
        #expect(row["count"] == .null && row.text("kind") == "" && row.description == "1 [kind: null, count: null]")
        #expect(throws: NestError.self) { try row.value("count", as: Int.self) }
    }

    @Test func dictionariesHaveAllColumns() throws {
        let row = try Self.parcel.request(properties: ["weight", "count"]).named(
            Row(id: ObjectID(1), values: [.double(2), .integer(1)])
        )
        #expect(try row.decode([String: Double].self) == ["id": 1, "weight": 2, "count": 1])
    }
}
