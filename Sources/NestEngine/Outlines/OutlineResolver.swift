import NestModel
import NestProtocol
import NestSchema
import NestStore

/// Checks requests for outlines against the model.
extension RequestResolver {
    /// The slots of the properties that only rows of outlines have.
    static let outlineDepthSlot = Int.max
    static let outlineChildrenSlot = Int.max - 1

    /// Refuses a request for an outline that cannot be one, with what to do. `request` is canonical.
    func check(outline: FetchOutline, _ request: ObjectFetchRequest, _ entity: EntityDescription) throws(StoreError) {
        func refuse(_ text: String) -> StoreError { .refused(.invalid, "an outline \(text)") }
        guard request.source != nil else {
            throw refuse("needs a source: name the object above it and the relationship that leads down")
        }
        guard request.sort.isEmpty, request.section == nil else {
            throw refuse("has the order of its relationship and one section: leave out the sort keys and the section")
        }
        guard request.totals.isEmpty else { throw refuse("has no totals: leave them out") }
        let max = Limits.outlineWindowRowsMax
        switch request.window {
        case .range(_, let limit) where limit <= max: break
        case .around(_, let before, let after) where before < max && after < max - before: break
        default: throw refuse("needs a window of at most \(max) rows")
        }
        for comparison in request.predicate.comparisons {
            if comparison.operator == .inSubtree {
                throw refuse("has no SUBTREE in its predicate: use the source to choose the sub-tree")
            }
            guard comparison.quantifier == .one else {
                throw refuse("compares its own attributes and to-one relationships only: leave out ANY, ALL and NONE")
            }
            guard comparison.path.leaf.collection == nil else {
                throw refuse(
                    "compares its own attributes and to-one relationships only: leave out @count, functions and SUBQUERY"
                )
            }
        }
        guard case .attribute(let property) = outline.expansion else { return }
        guard let attribute = entity.attribute(property) else {
            throw .refused(.unknownProperty, "\(entity.name) has no attribute number \(property.rawValue)")
        }
        guard attribute.type == .boolean else {
            throw refuse("is unfolded by a boolean attribute: \(entity.name).\(attribute.name) is another")
        }
    }

    private static let otherRelationship = StoreError.refused(
        .invalid,
        "an outline needs an ordered to-many relationship that leads to objects of the same table and has a to-one inverse"
    )

    /// Returns the plan of a resolved request for an outline.
    func plan(_ resolved: Resolved, _ outline: FetchOutline, _ source: FetchSource) throws(StoreError) -> OutlinePlan {
        guard case .owned(let slot, let place?, let root) = resolved.source.membership, let window = resolved.window,
            let layout = self.objects.layout[resolved.source.entity]
        else { throw Self.otherRelationship }
        // A resuming client may name an object that has been deleted.
        if let owner = try self.objects.object(root) {
            let kind = owner.layout.kind(owner.row.entity).entity
            guard let relationship = kind.relationship(source.relationship), relationship.isOrdered,
                self.objects.layout.model.hasSubtrees(of: kind, by: relationship)
            else { throw Self.otherRelationship }
        }
        var folds = OutlineFolds(exceptions: Set(outline.exceptions))
        switch outline.expansion {
        case .none, .asBefore: break
        case .all: folds.isExpanded = true
        case .attribute(let property): folds.attributeSlot = layout.slot(of: property)
        }
        let columns = resolved.slots.map { slot -> Outline.Column in
            if slot == Self.outlineDepthSlot { return .depth }
            if slot == Self.outlineChildrenSlot { return .childCount }
            return EntityLayout.column(ofSlot: slot).map { .related($0) } ?? .slot(slot)
        }
        return OutlinePlan(
            source: OutlineSource(
                children: resolved.source,
                root: root,
                slot: slot,
                place: place,
                folds: folds,
                rowsMax: Limits.outlineRowsMax
            ),
            projection: resolved.projection,
            columns: columns,
            window: window,
            keepsFolds: outline.expansion == .asBefore
        )
    }
}
