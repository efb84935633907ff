import NestModel
import NestStore
import Testing

/// Results found the obvious way: by going through all objects of a store, and sorting.
struct NaiveResults {
    private let model: ManagedObjectModel
    private let layout: ModelLayout
    /// Everything there is, pairs included.
    let rows: [ObjectID: ObjectRow]

    init(_ store: Store) throws {
        self.layout = store.layout
        self.model = store.layout.model
        var rows: [ObjectID: ObjectRow] = [:]
        try store.access {
            for id in 1..<store.nextObjectID {
                for layout in store.layout.entities {
                    if let row = try store.row(layout.number, ObjectID(id)) { rows[ObjectID(id)] = row }
                }
            }
        }
        self.rows = rows
    }

    func entity(_ number: EntityNumber) -> EntityDescription? { self.model.entity(number) }

    func isKind(_ row: ObjectRow, of entity: EntityNumber) -> Bool { self.model.isKind(row.entity, of: entity) }

    func isKind(_ entity: EntityNumber, of ancestor: EntityNumber) -> Bool { self.model.isKind(entity, of: ancestor) }

    /// Ids of the objects of an entity, ascending.
    func objects(of entity: EntityNumber) -> [ObjectID] {
        self.rows.filter { self.isKind($0.value, of: entity) }.map(\.key).sorted()
    }

    /// The objects that a to-many relationship of an owner leads to, in its order.
    func related(_ owner: ObjectID, _ relationship: RelationshipDescription) -> [ObjectID] {
        guard let inverse = self.model.inverse(of: relationship) else { return [] }
        var found: [(position: Int64, id: ObjectID)] = []
        for (id, row) in self.rows {
            guard let layout = self.layout[row.entity] else { continue }
            if let join = relationship.join {
                guard layout.number == join, let ownerLayout = self.layout[self.rows[owner]?.entity ?? row.entity],
                    let pairs = ownerLayout.manyToMany(relationship.number),
                    row.values[pairs.ownerSlot].referenceValue == owner,
                    let target = row.values[pairs.targetSlot].referenceValue
                else { continue }
                found.append((pairs.ownerPlace.map { row.places[$0].position } ?? 0, target))
            } else {
                guard self.isKind(row, of: relationship.destination), let slot = layout.slot(of: inverse.number),
                    row.values[slot].referenceValue == owner
                else { continue }
                let place = layout.placeOfSlot[slot]
                found.append((place >= 0 ? row.places[place].position : 0, id))
            }
        }
        return found.sorted { ($0.position, $0.id) < ($1.position, $1.id) }.map(\.id)
    }

    /// What a client of a fetch request should hold.
    func rows(_ request: FetchRequest) -> [Row] {
        let request = request.canonical(in: self.model)
        var ids = self.objects(of: request.entity)
        if let source = request.source {
            let kind = self.rows[source.object].flatMap { self.model.entity($0.entity) }
            let relationship = kind?.relationship(source.relationship)
            let wanted = Set(ids)
            ids = relationship.map { self.related(source.object, $0).filter { wanted.contains($0) } } ?? []
        }
        ids = ids.filter { self.isTrue(request.predicate, of: $0) }
        if !request.sort.isEmpty { ids.sort { self.precedes($0, $1, request) } }
        return ids.map { id in Row(id: id, values: request.projection.map { self.value($0, of: id) }) }
    }

    func value(_ property: PropertyNumber, of id: ObjectID) -> AttributeValue {
        guard let row = self.rows[id], let layout = self.layout[row.entity] else { return .null }
        if property == .entity { return .integer(Int64(row.entity.rawValue)) }
        return layout.slot(of: property).map { row.values[$0] } ?? .null
    }

    private func precedes(_ a: ObjectID, _ b: ObjectID, _ request: FetchRequest) -> Bool {
        for key in request.sort {
            let x = self.value(key.property!, of: a)
            let y = self.value(key.property!, of: b)
            let type = self.model.entity(request.entity)?.attribute(key.property!)?.type
            if Self.precedes(x, y, type) { return key.isAscending }
            if Self.precedes(y, x, type) { return !key.isAscending }
        }
        return a < b
    }

    static func precedes(_ a: AttributeValue, _ b: AttributeValue, _ type: AttributeType?) -> Bool {
        switch (a, b) {
        case (.null, _): !b.isNull
        case (_, .null): false
        case (.integer(let a), .integer(let b)), (.date(let a), .date(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        case (.boolean(let a), .boolean(let b)): !a && b
        case (.string(let a), .string(let b)):
            type == .decimal ? DecimalText.isLess(a, b) : a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b)
        case (.uuid(let a), .uuid(let b)): a < b
        default: false
        }
    }
}
