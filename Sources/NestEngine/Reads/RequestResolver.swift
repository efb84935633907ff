import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// Checks fetch requests against the model and resolves them for reading. Objects that a request names are looked up
/// with `objects`.
struct RequestResolver {
    let objects: ObjectReader
    /// The confinement of the client's token: objects outside it are treated as missing.
    var confinement: Confinement?

    private var layout: ModelLayout { self.objects.layout }
    private var model: ManagedObjectModel { self.objects.layout.model }

    /// A fetch request that was checked against the model: its source and its canonical projection.
    struct Resolved {
        var source: ResultSource
        var projection: [PropertyNumber]
        /// The slots of the projection: `EntityLayout.entitySlot` for the object's own entity; columns last.
        var slots: [Int]
        var window: FetchWindow?
        /// Not `nil`: the rows are an outline, whose first level is the source.
        var outline: OutlinePlan?
    }

    init(objects: ObjectReader, confinement: Confinement? = nil) {
        self.objects = objects
        self.confinement = confinement
    }

    /// Creates a resolver for a request to the engine, within a token scope.
    init(_ store: Store, _ scopes: TokenScopes, _ scope: AuthorisationScope) throws(StoreError) {
        self.init(objects: store.objects, confinement: try scope.confinement(store, scopes))
    }

    /// `mayBeGone`: a resuming client may hold rows of an owner that has been deleted; its result is then empty.
    func resolve(_ request: ObjectFetchRequest, mayBeGone: Bool) throws(StoreError) -> Resolved {
        guard let entity = self.model.entity(request.entity), let layout = self.layout[request.entity] else {
            throw StoreError.refused(.unknownEntity, "the model has no entity number \(request.entity.rawValue)")
        }
        var request = request.canonical(in: self.model)
        let expressions = try self.check(request.predicate, entity)
        if let outline = request.outline { try self.check(outline: outline, request, entity) }
        if let confinement {
            let predicate = request.predicate
            request = try confinement.confined(request).canonical(in: self.model)
            // What is below a visible object is visible.
            if request.outline != nil { request.predicate = predicate }
        }
        let slots = try request.projection.map { (property) throws(StoreError) in
            if property == .entity { return EntityLayout.entitySlot }
            if property.isOfOutlines, request.outline != nil {
                return property == .outlineDepth ? Self.outlineDepthSlot : Self.outlineChildrenSlot
            }
            if let column = property.column, request.columns.indices.contains(column) {
                return EntityLayout.columnSlot(column)
            }
            guard entity.storedProperties.contains(property), let slot = layout.slot(of: property) else {
                throw StoreError.refused(
                    .unknownProperty,
                    "\(entity.name) has no stored property number \(property.rawValue)"
                )
            }
            return slot
        }
        var source = self.source(of: entity, .all)
        if let requested = request.source {
            let isVisible = if let confinement { try confinement.contains(requested.object) } else { true }
            source = try self.relationship(requested, of: entity, isVisible: isVisible, mayBeGone: mayBeGone)
        }
        var predicate = request.predicate
        var order = RequestOrder(model: self.model, layout: self.layout, entity: entity)
        try order.take(columns: request.columns)
        try order.take(totals: request.totals)
        if request.sort.first?.key == .order {
            try order.checkAlone(request)
            if request.source == nil {
                let (found, rest) = try order.membership(by: predicate)
                (source.membership, source.isFiltered) = found
                predicate = rest
            } else if source.orderingPlace == nil {
                throw StoreError.refused(.invalid, "the relationship is not ordered: there is no order to sort by")
            }
        } else {
            try order.take(request.sort)
            source.sort = order.terms
        }
        source.related = order.related
        source.columnCount = order.columnCount
        source.totals = order.totals
        if let section = request.section { source.section = try order.section(section, request.sort) }
        if !predicate.nodes.isEmpty { source.filter = RowFilter(predicate, entity, self.layout, expressions) }
        var resolved = Resolved(source: source, projection: request.projection, slots: slots, window: request.window)
        if let outline = request.outline, let source = request.source {
            resolved.outline = try self.plan(resolved, outline, source)
        }
        return resolved
    }

    /// Checks a predicate and compiles its regular expressions.
    private func check(_ predicate: FetchPredicate, _ entity: EntityDescription) throws(StoreError) -> MatchExpressions
    {
        guard !predicate.nodes.isEmpty else { return MatchExpressions() }
        let expressions = MatchExpressions(predicate)
        let faults = predicate.faults(for: entity, in: self.model) + expressions.faults
        guard faults.isEmpty else {
            throw StoreError.refused(.invalidPredicate, "the predicate is not valid: \(faults.joined(separator: "; "))")
        }
        return expressions
    }

    func source(
        of entity: EntityDescription,
        _ membership: ResultSource.Membership,
        isFiltered: Bool = false
    ) -> ResultSource {
        guard let layout = self.layout[entity.number] else { preconditionFailure("an entity has a table") }
        return ResultSource(
            entity: entity.number,
            table: layout.number,
            kinds: self.model.kinds(of: entity.number).map(\.number),
            isFiltered: isFiltered,
            membership: membership
        )
    }

    /// Returns the source of the rows that a to-many relationship of an object leads to, in its order. An object that
    /// is not visible is treated as missing.
    private func relationship(
        _ requested: FetchSource,
        of entity: EntityDescription,
        isVisible: Bool,
        mayBeGone: Bool
    ) throws(StoreError) -> ResultSource {
        let notFound = StoreError.refused(
            .notFound,
            "there is no object with id \(requested.object)",
            object: requested.object
        )
        guard isVisible, let owner = try self.objects.object(requested.object) else {
            // The entity of a missing owner is unknown. Its relationship is known only if a single one has this number
            // and leads to the entity.
            let candidates = Set(
                self.layout.entities.compactMap { layout in
                    self.membership(requested, layout).flatMap { self.source($0, of: entity) }
                }
            )
            guard mayBeGone, candidates.count == 1, let only = candidates.first else { throw notFound }
            return only
        }
        let kind = owner.layout.kind(owner.row.entity).entity
        guard let relationship = kind.relationship(requested.relationship),
            let found = self.membership(requested, owner.layout)
        else {
            throw StoreError.refused(
                .unknownProperty,
                "\(kind.name) has no to-many relationship number \(requested.relationship.rawValue)"
            )
        }
        guard let source = self.source(found, of: entity) else {
            throw StoreError.refused(.invalid, "\(kind.name).\(relationship.name) does not lead to \(entity.name)")
        }
        return source
    }

    private typealias Found = (destination: EntityNumber, membership: ResultSource.Membership)

    private func membership(_ requested: FetchSource, _ layout: EntityLayout) -> Found? {
        if let toMany = layout.toMany(requested.relationship) {
            return (toMany.destination, toMany.membership(of: requested.object))
        }
        if let pairs = layout.manyToMany(requested.relationship) {
            return (pairs.destination, pairs.membership(of: requested.object))
        }
        return nil
    }

    /// Returns `nil` if the relationship does not lead to the entity or one above it.
    private func source(_ found: Found, of entity: EntityDescription) -> ResultSource? {
        guard self.model.isKind(entity.number, of: found.destination) else { return nil }
        return self.source(of: entity, found.membership, isFiltered: entity.number != found.destination)
    }
}

extension EntityLayout.ToMany {
    func membership(of owner: ObjectID) -> ResultSource.Membership {
        .owned(slot: self.inverseSlot, place: self.inversePlace, owner: owner)
    }
}

extension EntityLayout.ManyToMany {
    func membership(of owner: ObjectID) -> ResultSource.Membership {
        .paired(
            join: self.join,
            ownerSlot: self.ownerSlot,
            targetSlot: self.targetSlot,
            place: self.ownerPlace,
            owner: owner
        )
    }
}
