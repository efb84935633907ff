import NestModel

/// The model of the engine workloads: rows with a number, a name and a group, in lists.
package enum TableModel {
    package static let model: ManagedObjectModel = {
        var row = EntityDraft(name: "Row")
        var number = AttributeDraft(name: "number", type: .integer)
        var group = AttributeDraft(name: "group", type: .integer)
        number.defaultValue = .integer(0)
        group.defaultValue = .integer(0)
        row.attributes = [number, AttributeDraft(name: "name", type: .string), group]
        row.relationships = [RelationshipDraft(name: "list", destination: "List", inverse: "rows")]
        // Without this index, each subscription to a group first reads all rows.
        row.indexes = [["group"]]
        var list = EntityDraft(name: "List")
        var rows = RelationshipDraft(name: "rows", destination: "Row", inverse: "list")
        rows.isToMany = true
        list.relationships = [rows]
        do {
            return try ModelDraft(entities: [row, list]).compile()
        } catch {
            preconditionFailure("the model does not compile: \(error)")
        }
    }()

    private static func property(_ entity: EntityNumber, _ name: String) -> PropertyNumber {
        guard let number = Self.model.entity(entity)?.propertyNumber(named: name) else {
            preconditionFailure("the model has no property \(name)")
        }
        return number
    }

    package static let row = EntityNumber(1)
    package static let list = EntityNumber(2)
    package static let number = Self.property(Self.row, "number")
    package static let name = Self.property(Self.row, "name")
    package static let group = Self.property(Self.row, "group")
    package static let ofList = Self.property(Self.row, "list")
    package static let rows = Self.property(Self.list, "rows")

    package static func makeLists(_ count: Int, _ subject: EngineSubject) throws -> [ObjectID] {
        var lists: [ObjectID] = []
        for start in stride(from: 0, to: count, by: Limits.mutationsPerTransactionMax) {
            let more = min(count - start, Limits.mutationsPerTransactionMax)
            let insert = Mutation.insert(entity: Self.list, values: [], placements: [])
            lists += try subject.write([[Mutation](repeating: insert, count: more)]).inserted
        }
        return lists
    }

    /// All rows, sorted by number or by name.
    package static func all(by key: SortedBy) -> ObjectFetchRequest {
        ObjectFetchRequest(entity: Self.row, sort: [OrderingTerm(key.property)])
    }

    /// A window of all rows, sorted by number.
    package static func all(in window: FetchWindow) -> ObjectFetchRequest {
        ObjectFetchRequest(entity: Self.row, sort: [OrderingTerm(Self.number)], window: window)
    }

    /// The rows whose names match a text with the given operator, sorted by number.
    package static func rows(named comparison: Comparison.Operator, _ text: String) -> ObjectFetchRequest {
        let comparison = Comparison(
            path: PropertyPath(leaf: .attribute(Self.name)),
            operator: comparison,
            values: [.string(text)]
        )
        return ObjectFetchRequest(
            entity: Self.row,
            sort: [OrderingTerm(Self.number)],
            predicate: FetchPredicate(comparison)
        )
    }

    /// The rows of a list, sorted by number.
    package static func rows(of list: ObjectID) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: Self.row,
            source: FetchSource(object: list, relationship: Self.rows),
            sort: [OrderingTerm(Self.number)]
        )
    }

    /// The rows of a group, sorted by number.
    package static func rows(ofGroup group: Int64) -> ObjectFetchRequest {
        let comparison = Comparison(
            path: PropertyPath(leaf: .attribute(Self.group)),
            operator: .equal,
            values: [.integer(group)]
        )
        return ObjectFetchRequest(
            entity: Self.row,
            sort: [OrderingTerm(Self.number)],
            predicate: FetchPredicate(comparison)
        )
    }
}

/// The sort key of a result.
package enum SortedBy: String, CaseIterable, Sendable {
    case integer
    case text

    package var property: PropertyNumber {
        switch self {
        case .integer: TableModel.number
        case .text: TableModel.name
        }
    }
}
