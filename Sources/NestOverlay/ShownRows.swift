import NestModel

/// The rows of all views at one revision: what the client knows of the server's objects. Immutable; made in O(n) for n
/// rows.
final class ShownRows {
    private struct Place {
        let view: Int
        let path: RowPosition
    }

    let model: ManagedObjectModel
    let views: [OverlayView]
    let shapes: [ViewShape?]
    /// The trees of the views that are outlines; `nil` for others, and for those whose rows lack what it takes.
    let outlines: [ShownOutline?]
    private let places: [ObjectID: [Place]]
    /// What is remembered of objects that no view shows.
    private let memories: [ObjectID: RememberedRow]
    /// The root objects, which are never deleted.
    let roots: Set<ObjectID>

    init(_ views: [OverlayView], _ model: ManagedObjectModel) {
        self.model = model
        self.views = views
        let shapes = views.map { ViewShape($0, model) }
        self.shapes = shapes
        self.outlines = zip(views, shapes).map { view, shape in
            shape.flatMap { ShownOutline(view.state, $0, view.remembered) }
        }
        self.roots = Set(model.entities.compactMap { $0.root?.object })
        var places: [ObjectID: [Place]] = [:]
        for (index, view) in views.enumerated() {
            for (section, rows) in view.state.sections.enumerated() {
                for (row, object) in rows.rows.enumerated() {
                    places[object.id, default: []].append(Place(view: index, path: RowPosition(section, row)))
                }
            }
        }
        self.places = places
        self.memories = Dictionary(
            views.flatMap { $0.remembered.filter { places[$0.key] == nil } },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Returns what is remembered of an object that no view shows.
    func remembered(_ id: ObjectID) -> RememberedRow? { self.memories[id] }

    /// The objects that no view shows, and that a pending write changes which is laid over what is remembered of them.
    var rememberedCount: Int { self.memories.count { $0.key == $0.value.root } }

    /// Returns the row of an object in a view.
    func row(_ id: ObjectID, in view: Int) -> Row? {
        self.places[id]?.first { $0.view == view }.map { self.views[view].state[$0.path] }
    }

    var objects: some Collection<ObjectID> { self.places.keys }

    func contains(_ id: ObjectID) -> Bool { self.places[id] != nil }

    /// Whether an object is a row of a view.
    func contains(_ id: ObjectID, in view: Int) -> Bool { self.places[id]?.contains { $0.view == view } ?? false }

    /// Returns a stored property of an object, or `nil` if no view shows it and it is not remembered.
    func value(_ property: PropertyNumber, of id: ObjectID) -> AttributeValue? {
        for place in self.places[id] ?? [] {
            guard let shape = self.shapes[place.view] else { continue }
            if let slot = shape.slots[property] { return self.views[place.view].state[place.path].values[slot] }
            if shape.toOne == property, shape.request.outline == nil, let source = shape.request.source {
                return .reference(source.object)
            }
        }
        return self.memories[id]?.values[property]
    }

    /// Returns the entity of an object, or `nil` if it is not known.
    func entity(of id: ObjectID) -> EntityDescription? {
        for place in self.places[id] ?? [] {
            guard let shape = self.shapes[place.view] else { continue }
            if let only = shape.onlyKind { return self.model.entity(only) }
            if let slot = shape.slots[.entity],
                case .integer(let number) = self.views[place.view].state[place.path].values[slot]
            {
                return self.model.entity(EntityNumber(UInt16(number)))
            }
        }
        if let remembered = self.memories[id] { return remembered.entity }
        // The root of an entity is an object of that entity.
        return self.model.entities.first { $0.root?.object == id }
    }
}
