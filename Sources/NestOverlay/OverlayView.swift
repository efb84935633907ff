import NestModel

/// What a client holds of one live result: the request, and the server's state of it at a revision.
package struct OverlayView: Sendable {
    /// The request as the server has it. Its projection should contain the row's own values that the predicate, the
    /// order and the section read (`ObjectFetchRequest.widened`); what is missing is unknown.
    package let request: ObjectFetchRequest
    package let state: SectionedSnapshot
    /// The entity of the source's object, if the client knows it. Otherwise the model must leave no choice.
    package let sourceEntity: EntityNumber?
    /// The fold states that were set in an outline by an attribute.
    package let expanded: [ObjectID: Bool]
    /// What is remembered of objects that are no rows any more.
    var remembered: [ObjectID: RememberedRow] = [:]

    /// The rows, and whether they are folded rows of an outline with objects below.
    var isFolded: [ObjectID: Bool] {
        let slot = self.state.projection.firstIndex(of: .outlineChildren)
        var all: [ObjectID: Bool] = [:]
        for section in self.state.sections {
            for row in section.rows { all[row.id] = slot.map { row.isFolded($0) } ?? false }
        }
        return all
    }

    package init(
        request: ObjectFetchRequest,
        state: SectionedSnapshot,
        sourceEntity: EntityNumber? = nil,
        expanded: [ObjectID: Bool] = [:]
    ) {
        self.request = request
        self.state = state
        self.sourceEntity = sourceEntity
        self.expanded = expanded
    }
}

/// A view with pending transactions laid over it.
package struct OverlaidView: Sendable, Equatable {
    package var state: SectionedSnapshot
    /// The rows that a pending transaction changes.
    package var pending: Set<ObjectID>
    /// The objects of which it is not known what the transactions make of them in this view. Those that are rows of the
    /// server's state are shown as the server has them, with the values that are known; the others are not shown.
    package var undecided: Set<ObjectID>
    /// The number of reasons for which any row may differ, such as a step on objects that no view shows.
    package var doubts: Int

    /// Whether the rows are what the server will answer once it has the transactions, if no other session writes.
    package var isDecided: Bool { self.undecided.isEmpty && self.doubts == 0 }
}

/// The facts about a view that its request and the model determine.
struct ViewShape {
    /// What orders the rows.
    enum Order {
        /// The list of an owner's ordered relationship.
        case list(FetchSource)
        case ids
        case terms([RowTerm])
    }

    let request: ObjectFetchRequest
    let entity: EntityDescription
    /// The relationship of the source; `nil` without a source, or if it is not known.
    let relationship: RelationshipDescription?
    /// The to-one relationship of the rows that leads back to the source's object.
    let toOne: PropertyNumber?
    let order: Order
    let predicate: KnownPredicate
    /// Whether it has a source whose relationship the model leaves open.
    let isOpaque: Bool
    /// The index of each stored property in the rows' values.
    let slots: [PropertyNumber: Int]
    /// The rows' entity, if only one entity has objects of the request's kind.
    let onlyKind: EntityNumber?
    /// Whether the window contains the beginning and the end of the whole result.
    let startsAtFirst: Bool
    let endsAtLast: Bool

    /// Returns `nil` if the model has no such entity.
    init?(_ view: OverlayView, _ model: ManagedObjectModel) {
        guard let entity = model.entity(view.request.entity) else { return nil }
        let request = view.request
        self.request = request
        self.entity = entity
        let relationship = request.source.flatMap { Self.relationship(of: $0, view, model) }
        self.relationship = relationship
        let inverse = relationship.flatMap { model.inverse(of: $0) }
        self.toOne = inverse.flatMap { $0.isToMany ? nil : $0.number }
        self.isOpaque = request.source != nil && relationship == nil
        self.predicate = KnownPredicate(request.predicate, of: entity, in: model)
        self.order = Self.order(of: request, relationship, entity, model)
        var slots: [PropertyNumber: Int] = [:]
        for (index, property) in view.state.projection.enumerated() { slots[property] = index }
        self.slots = slots
        let kinds = model.kinds(of: request.entity).filter { !$0.isAbstract }
        self.onlyKind = kinds.count == 1 ? kinds[0].number : nil
        let window = view.state.window
        // An empty window may begin behind the end.
        let isBehind = window.map { view.state.total == 0 && request.offset > $0.total } ?? false
        self.startsAtFirst = window.map { $0.start.row == 0 && !isBehind } ?? true
        self.endsAtLast = window.map { $0.start.row + view.state.total >= $0.total && !isBehind } ?? true
    }

    /// Returns the relationship of a source. Without the entity of its object, the number must mean the same in all
    /// entities whose relationship leads to rows of the request.
    private static func relationship(
        of source: FetchSource,
        _ view: OverlayView,
        _ model: ManagedObjectModel
    ) -> RelationshipDescription? {
        if let known = view.sourceEntity.flatMap({ model.entity($0) }) {
            return known.relationship(source.relationship)
        }
        let found = model.entities.compactMap { $0.relationship(source.relationship) }.filter { relationship in
            relationship.isToMany
                && (model.isKind(view.request.entity, of: relationship.destination)
                    || model.isKind(relationship.destination, of: view.request.entity))
        }
        return Set(found).count == 1 ? found[0] : nil
    }

    /// The reasons for which any row may differ after the transactions, whatever orders the rows.
    func doubts(_ paths: KnownPaths) -> Int {
        var doubts = self.isOpaque ? 1 : 0
        if let source = self.request.source {
            // The rows of a source that may have been deleted, which no row refers to.
            if paths.known.changes[source.object]?.mayBeGone == true { doubts += 1 }
        }
        for comparison in self.predicate.comparisons where !comparison.isOwn {
            let isAffected =
                comparison.operator == .inSubtree
                ? !paths.known.changedProperties.isEmpty : paths.isAffected(comparison.path, from: self.entity)
            if isAffected { doubts += 1 }
        }
        return doubts
    }

    /// Returns the relationship whose list orders the rows.
    func listRelationship(_ model: ManagedObjectModel) -> RelationshipDescription? {
        guard case .list(let source) = self.order else { return nil }
        if self.request.source != nil { return self.relationship }
        // The list of a condition `parent == X`.
        return self.entity.relationships.compactMap { model.inverse(of: $0) }.first {
            $0.number == source.relationship && $0.isToMany && $0.isOrdered
                && model.areRelated($0.destination, self.entity.number)
        }
    }

    private static func order(
        of request: ObjectFetchRequest,
        _ relationship: RelationshipDescription?,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) -> Order {
        if request.sort.isEmpty || request.sort.first == .order {
            if let source = request.source { return relationship?.isOrdered == true ? .list(source) : .ids }
            guard !request.sort.isEmpty, let list = Self.list(in: request.predicate, entity, model) else { return .ids }
            return .list(list)
        }
        return .terms(request.sort.compactMap { RowTerm($0, of: entity, in: model) })
    }

    /// Returns the ordered list of a condition `parent == X` that every row must satisfy: the order `order` of a
    /// request without a source.
    private static func list(
        in predicate: FetchPredicate,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) -> FetchSource? {
        predicate.removing { comparison -> FetchSource? in
            guard comparison.operator == .equal, comparison.path.leaf == .object, comparison.path.steps.count == 1,
                let step = entity.relationship(comparison.path.steps[0]), let inverse = model.inverse(of: step),
                inverse.isOrdered, let owner = comparison.values[0].referenceValue
            else { return nil }
            return FetchSource(object: owner, relationship: inverse.number)
        }?.value
    }
}

extension ObjectFetchRequest {
    /// Returns the request with the rows' own values that its predicate, order and section read, so that a client can
    /// decide them for a changed row. The projection must be spelled out.
    package func widened(in model: ManagedObjectModel) -> ObjectFetchRequest {
        guard let entity = model.entity(self.entity) else { return self }
        var paths = self.sort.compactMap { term -> PropertyPath? in
            if case .path(let path) = term.key { path } else { nil }
        }
        paths += self.predicate.comparisons.map(\.path)
        if let section = self.section { paths.append(section.path) }
        var wanted = Set(self.projection)
        for path in paths {
            let first = path.steps.first ?? path.leaf.attribute
            if let first, entity.storedProperties.contains(first) { wanted.insert(first) }
        }
        if let outline = self.outline {
            // The tree needs each row's parent, and what folds it.
            let relationship = self.source.flatMap { entity.relationship($0.relationship) }
            if let above = relationship.flatMap({ model.inverse(of: $0) }) { wanted.insert(above.number) }
            if case .attribute(let property) = outline.expansion { wanted.insert(property) }
            wanted.formUnion([.outlineChildren, .outlineDepth])
        }
        if model.kinds(of: self.entity).count > 1 { wanted.insert(.entity) }
        var request = self
        request.projection = wanted.sorted()
        return request
    }
}

extension ObjectFetchRequest {
    /// The row at which its window should begin; 0 around an object.
    fileprivate var offset: Int { if case .range(let offset, _)? = self.window { offset } else { 0 } }
}

extension Row {
    /// Whether the value that says how many children it has is that of a folded row with children.
    func isFolded(_ slot: Int) -> Bool { if case .integer(let count) = self.values[slot] { count < -1 } else { false } }
}

extension PropertyPath.Leaf {
    var attribute: PropertyNumber? { if case .attribute(let property) = self { property } else { nil } }
}
