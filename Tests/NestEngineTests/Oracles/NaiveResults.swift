import NestModel
import NestStore
import NestSchema

/// Results found naively, by searching and sorting all objects of a store.
final class NaiveResults {
    let model: ManagedObjectModel
    private let layout: ModelLayout
    /// All rows of the store, including pairs.
    let rows: [ObjectID: ObjectRow]
    /// The objects of to-many relationships, for those that were requested before.
    private var lists: [FetchSource: [ObjectID]] = [:]
    private var kinds: [EntityNumber: [ObjectID]] = [:]
    private var states: [ObjectFetchRequest: [ResultsSection]] = [:]

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

    func isKind(_ row: ObjectRow, of entity: EntityNumber) -> Bool { self.model.isKind(row.entity, of: entity) }

    func isKind(_ entity: EntityNumber, of ancestor: EntityNumber) -> Bool { self.model.isKind(entity, of: ancestor) }

    func entity(of id: ObjectID) -> EntityDescription? { self.rows[id].flatMap { self.model.entity($0.entity) } }

    func entity(_ number: EntityNumber) -> EntityDescription? { self.model.entity(number) }

    /// Returns the ids of an entity's objects, ascending.
    func objects(of entity: EntityNumber) -> [ObjectID] {
        if let known = self.kinds[entity] { return known }
        let found = self.rows.filter { self.isKind($0.value, of: entity) }.map(\.key).sorted()
        self.kinds[entity] = found
        return found
    }

    /// Returns the objects of an owner's to-many relationship, in its order.
    func related(_ owner: ObjectID, _ relationship: RelationshipDescription) -> [ObjectID] {
        let key = FetchSource(object: owner, relationship: relationship.number)
        if let known = self.lists[key] { return known }
        let found = self.found(owner, relationship)
        self.lists[key] = found
        return found
    }

    private func found(_ owner: ObjectID, _ relationship: RelationshipDescription) -> [ObjectID] {
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

    // MARK: Values

    /// Returns a stored property of an object, or its entity.
    func value(_ property: PropertyNumber, of id: ObjectID) -> AttributeValue {
        guard let row = self.rows[id], let layout = self.layout[row.entity] else { return .null }
        if property == .entity { return .integer(Int64(row.entity.rawValue)) }
        return layout.slot(of: property).map { row.values[$0] } ?? .null
    }

    /// Returns the objects that the steps lead to, with `nil` for a to-one step that is null.
    func ends(_ steps: [PropertyNumber], of id: ObjectID) -> [ObjectID?] {
        guard let step = steps.first else { return [id] }
        let rest = Array(steps.dropFirst())
        guard let relationship = self.entity(of: id)?.relationship(step), relationship.isToMany else {
            guard let next = self.value(step, of: id).referenceValue else { return [nil] }
            return self.ends(rest, of: next)
        }
        return self.related(id, relationship).flatMap { self.ends(rest, of: $0) }
    }

    /// Returns the value of a path's leaf, for an object that its steps lead to.
    func value(_ leaf: PropertyPath.Leaf, of id: ObjectID?) -> AttributeValue {
        guard let id else { return .null }
        switch leaf {
        case .object: return .reference(id)
        case .attribute(let property): return self.value(property, of: id)
        case .count(let property):
            guard let relationship = self.entity(of: id)?.relationship(property) else { return .null }
            return .integer(Int64(self.related(id, relationship).count))
        case .countWhere(let property, let predicate):
            guard let relationship = self.entity(of: id)?.relationship(property) else { return .null }
            return .integer(Int64(self.related(id, relationship).filter { self.isTrue(predicate, of: $0) }.count))
        case .aggregate(let function, let relationship, let attribute):
            return self.aggregate(function, relationship, attribute, of: id)
        }
    }

    /// Returns the value of a path without to-many steps.
    func value(_ path: PropertyPath, of id: ObjectID) -> AttributeValue {
        self.value(path.leaf, of: self.ends(path.steps, of: id)[0])
    }

    // MARK: Requests

    /// Returns the sections of a fetch request without its window, with the values in the order of `projection`.
    func sections(_ request: ObjectFetchRequest, _ projection: [PropertyNumber]) -> [ResultsSection] {
        var key = request
        key.projection = projection
        key.window = nil
        if let known = self.states[key] { return known }
        var sections: [ResultsSection] = []
        for id in self.ids(request) {
            let values = projection.map { property in
                property.column.map { self.value(request.columns[$0], of: id) } ?? self.value(property, of: id)
            }
            let name = self.sectionName(request, of: id)
            if sections.last?.key != name { sections.append(ResultsSection(key: name, rows: [])) }
            sections[sections.count - 1].rows.append(Row(id: id, values: values))
        }
        if request.section != nil {
            for index in sections.indices {
                sections[index].totals = self.totals(request, over: sections[index].rows.map(\.id))
            }
        }
        if request.section == nil, sections.isEmpty { sections = [ResultsSection(key: .string(""), rows: [])] }
        self.states[key] = sections
        return sections
    }

    /// Returns the totals of the whole result.
    func totals(_ request: ObjectFetchRequest) -> [AttributeValue] {
        self.totals(request, over: self.order(request))
    }

    private func ids(_ request: ObjectFetchRequest) -> [ObjectID] {
        var ids = self.objects(of: request.entity)
        if let source = request.source {
            let relationship = self.entity(of: source.object)?.relationship(source.relationship)
            let wanted = Set(ids)
            ids = relationship.map { self.related(source.object, $0).filter { wanted.contains($0) } } ?? []
        } else if request.sort.first == .order {
            let matches = Set(ids.filter { self.isTrue(request.predicate, of: $0) })
            return self.listed(request.predicate, request.entity).filter { matches.contains($0) }
        }
        ids = ids.filter { self.isTrue(request.predicate, of: $0) }
        if request.sort.isEmpty || request.sort.first == .order { return ids }
        let keys = Dictionary(uniqueKeysWithValues: ids.map { ($0, self.sortValues(request, of: $0)) })
        return ids.sorted { self.precedes($0, $1, keys, request) }
    }

    /// Returns the objects of the ordered list that a condition `parent == X` in the outermost AND names.
    private func listed(_ predicate: FetchPredicate, _ number: EntityNumber) -> [ObjectID] {
        for comparison in predicate.comparisons {
            guard comparison.operator == .equal, comparison.path.leaf == .object, comparison.path.steps.count == 1,
                let step = self.model.entity(number)?.relationship(comparison.path.steps[0]),
                let inverse = self.model.inverse(of: step), inverse.isOrdered,
                let owner = comparison.values[0].referenceValue
            else { continue }
            return self.related(owner, inverse)
        }
        return []
    }
}
