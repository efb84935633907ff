import NestModel

/// What is known of the objects once some pending transactions have run: the rows of all views, and what the
/// transactions change. A value, so that a transaction that the server must refuse can be dropped whole.
///
/// It knows less than the server, but nothing that is false: what a step leaves open becomes unknown, and a step on
/// objects that it cannot follow is counted.
struct KnownObjects {
    /// What the transactions made of an object.
    struct Change {
        var isGone = false
        /// The entity of an object that the transactions inserted.
        var entity: EntityDescription?
        /// Set properties; `nil`: set to a value that is not known.
        var values: [PropertyNumber: AttributeValue?] = [:]
        /// Whether the object was deleted if an object that no view shows was.
        var mayBeGone = false
    }

    /// A property of the objects of a hierarchy of entities.
    struct Property: Hashable {
        /// The topmost entity.
        let top: EntityNumber
        let number: PropertyNumber
    }

    let shown: ShownRows
    var changes: [ObjectID: Change] = [:]
    /// Whether objects are in many-to-many relationships that the transactions set, from both sides.
    var pairs: [FetchSource: [ObjectID: Bool]] = [:]
    /// To-many relationships of which all objects are known.
    var exact: Set<FetchSource> = []
    /// The lists that order rows of views.
    var lists = KnownLists()
    /// The outlines of which rows may have gone that they do not show.
    var doubtfulOutlines: Set<Int> = []
    /// The properties that the transactions may have changed, of any object.
    var changedProperties: Set<Property> = []
    /// The number of steps that could not be followed.
    var opaqueSteps = 0
    /// The time of the transaction that runs.
    var time: Int64 = 0

    var model: ManagedObjectModel { self.shown.model }

    init(_ shown: ShownRows) {
        self.shown = shown
        for (index, shape) in shown.shapes.enumerated() {
            guard let shape, case .list(let source) = shape.order else { continue }
            if shape.request.outline != nil {
                for (owner, sketch) in shown.outlines[index]?.sketches(isFiltered: !self.showsAll(shape)) ?? [] {
                    self.lists.add(ListID(view: index, owner: owner), sketch)
                }
                continue
            }
            let isWhole = shape.startsAtFirst && shape.endsAtLast
            let sketch = ListSketch(
                entries: shown.views[index].state.sections.flatMap { $0.rows.map(\.id) },
                startsAtFirst: shape.startsAtFirst,
                endsAtLast: shape.endsAtLast,
                isComplete: isWhole && self.showsAll(shape)
            )
            self.lists.add(ListID(view: index, owner: source.object), sketch)
        }
        // The server may have other values of these objects.
        self.opaqueSteps = shown.rememberedCount
        for (index, view) in shown.views.enumerated() {
            for (id, remembered) in view.remembered.sorted(by: { $0.key < $1.key }) {
                guard let place = remembered.place, let owner = place.owner else { continue }
                self.lists.add(id, to: ListID(view: index, owner: owner), place)
            }
        }
    }

    /// Whether a view without a window shows all objects of its source.
    private func showsAll(_ shape: ViewShape) -> Bool {
        guard shape.request.predicate.nodes.isEmpty, let relationship = shape.relationship else { return false }
        return self.model.isKind(relationship.destination, of: shape.request.entity)
    }

    // MARK: Reading

    func isGone(_ id: ObjectID) -> Bool { self.changes[id]?.isGone ?? false }

    /// Whether the transactions inserted the object, and the server does not show it yet: everything of it is known.
    func isFresh(_ id: ObjectID) -> Bool { self.changes[id]?.entity != nil && !self.shown.contains(id) }

    func entity(of id: ObjectID) -> EntityDescription? { self.changes[id]?.entity ?? self.shown.entity(of: id) }

    /// Returns a stored property of an object, or `nil` if it is not known.
    func value(_ property: PropertyNumber, of id: ObjectID) -> AttributeValue? {
        guard let change = self.changes[id] else { return self.shown.value(property, of: id) }
        if change.isGone { return nil }
        if let value = change.values[property] { return value }
        return self.shown.value(property, of: id)
    }

    /// Returns the known objects whose to-one relationship refers to an object. O(n).
    func objects(referringTo id: ObjectID, by relationship: RelationshipDescription, of kind: EntityNumber)
        -> [ObjectID]
    {
        self.all.filter { object in
            guard self.value(relationship.number, of: object) == .reference(id), let entity = self.entity(of: object)
            else { return false }
            return self.model.isKind(entity.number, of: kind)
        }
    }

    /// All known objects, ascending.
    var all: [ObjectID] {
        var all = Set(self.shown.objects)
        for (id, change) in self.changes { if change.isGone { all.remove(id) } else { all.insert(id) } }
        return all.sorted()
    }

    /// Whether an object is in a to-many relationship of another; `nil` if that is not known.
    func isMember(_ id: ObjectID, of source: FetchSource, _ relationship: RelationshipDescription) -> Bool? {
        if self.isGone(id) || self.isGone(source.object) { return false }
        guard let inverse = self.model.inverse(of: relationship) else { return nil }
        guard inverse.isToMany else {
            return self.value(inverse.number, of: id).map { $0 == .reference(source.object) }
        }
        if let known = self.pairs[source]?[id] { return known }
        let back = FetchSource(object: id, relationship: inverse.number)
        if self.exact.contains(source) || self.exact.contains(back) { return false }
        if self.isFresh(id) || self.isFresh(source.object) { return false }
        for (index, shape) in self.shown.shapes.enumerated() {
            guard let shape, shape.request.source == source, shape.relationship == relationship else { continue }
            if self.shown.contains(id, in: index) { return true }
            if shape.startsAtFirst, shape.endsAtLast, self.showsAll(shape) { return false }
        }
        return nil
    }

    // MARK: Changing

    mutating func set(_ property: PropertyNumber, of id: ObjectID, to value: AttributeValue?) {
        self.changes[id, default: Change()].values[property] = .some(value)
        self.note(property, of: id)
    }

    mutating func note(_ property: PropertyNumber, of id: ObjectID) {
        guard let entity = self.entity(of: id) else {
            self.opaqueSteps += 1
            return
        }
        self.note(property, of: entity.number)
    }

    mutating func note(_ property: PropertyNumber, of entity: EntityNumber) {
        self.changedProperties.insert(Property(top: self.model.top(of: entity), number: property))
    }

    /// Puts an object into the lists of a relationship that views show, or moves it there. Returns `false` if the
    /// server must refuse the place.
    mutating func place(
        _ id: ObjectID,
        in source: FetchSource,
        _ relationship: RelationshipDescription,
        _ place: SketchPlace
    ) -> Bool {
        if self.isFresh(source.object) { self.addLists(of: source) }
        for list in self.lists(of: source) {
            let known = self
            if self.lists.place(id, in: list, place, isMember: { known.isMember($0, of: source, relationship) }) {
                continue
            }
            if self.opaqueSteps == 0 { return false }
            self.lists.doubt(id, in: list)
        }
        return true
    }

    /// Returns the lists of views that have the order of a source.
    func lists(of source: FetchSource) -> [ListID] {
        self.shown.shapes.indices.compactMap { view in
            guard case .list(let shown)? = self.shown.shapes[view]?.order, shown.relationship == source.relationship
            else { return nil }
            let list = ListID(view: view, owner: source.object)
            return self.lists[list] == nil ? nil : list
        }
    }

    /// The children of an object that a transaction inserted are known: outlines may show them.
    private mutating func addLists(of source: FetchSource) {
        for (view, outline) in self.shown.outlines.enumerated() where outline != nil {
            let list = ListID(view: view, owner: source.object)
            guard self.shown.shapes[view]?.request.source?.relationship == source.relationship, self.lists[list] == nil
            else { continue }
            let sketch = ListSketch(entries: [], startsAtFirst: true, endsAtLast: true, isComplete: true)
            self.lists.add(list, sketch)
        }
    }
}

extension ManagedObjectModel {
    /// Returns the topmost entity above an entity.
    func top(of number: EntityNumber) -> EntityNumber { self.lineage(of: number).last?.number ?? number }

    /// Whether an object may be of both entities.
    func areRelated(_ a: EntityNumber, _ b: EntityNumber) -> Bool { self.isKind(a, of: b) || self.isKind(b, of: a) }
}
