import NestModel
import NestOrder

/// Specifies which objects are the rows of a result, and in which order. Requests with equal sources share one result.
///
/// Compiled from a fetch request, so that a commit looks up no properties.
package struct ResultSource: Hashable, Sendable {
    package enum Membership: Hashable, Sendable {
        /// All objects of the kinds.
        case all
        /// The objects whose slot refers to the owner: a to-many relationship with a to-one inverse. `place` is the
        /// slot's index in `ObjectRow.places`; `nil` if the relationship is unordered.
        case owned(slot: Int, place: Int?, owner: ObjectID)
        /// The objects in a pair with the owner: a many-to-many relationship. `place` is the owner slot's, in the
        /// pair's row.
        case paired(join: EntityNumber, ownerSlot: Int, targetSlot: Int, place: Int?, owner: ObjectID)
    }

    /// The requested entity.
    package var entity: EntityNumber
    /// The topmost entity of the table that holds the rows.
    package var table: EntityNumber
    /// The entities whose objects can be rows, ascending.
    package var kinds: [EntityNumber]
    /// Whether objects of the membership may not be rows: objects of other kinds, or those that the filter excludes.
    package var isFiltered: Bool
    package var membership: Membership
    /// The filter of the objects; `nil`: all are rows.
    package var filter: RowFilter? {
        didSet { if self.filter != nil { self.isFiltered = true } }
    }
    /// The sort keys; if empty, the order of the relationship. Ids complete either order.
    package var sort: [SortTerm]
    /// Values that depend on other objects: first the columns to send and those of totals, then those that only the
    /// order needs.
    package var related: [RelatedValue] = []
    package var columnCount = 0
    /// The values over all rows that its subscribers get; their values are among the columns.
    package var totals: [ResultTotal] = []
    /// The function of the first sort key that makes sections; `nil`: one section for all.
    package var section: SectionKey.Function?

    package init(
        entity: EntityNumber,
        table: EntityNumber,
        kinds: [EntityNumber],
        isFiltered: Bool = false,
        membership: Membership,
        sort: [SortTerm] = []
    ) {
        self.entity = entity
        self.table = table
        self.kinds = kinds
        self.isFiltered = isFiltered
        self.membership = membership
        self.sort = sort
    }

    /// The object whose relationship the result shows.
    package var owner: ObjectID? {
        switch self.membership {
        case .all: nil
        case .owned(_, _, let owner), .paired(_, _, _, _, let owner): owner
        }
    }

    /// The index in `ObjectRow.places` of the position that orders the rows; `nil` if something else does.
    package var orderingPlace: Int? {
        guard self.sort.isEmpty else { return nil }
        switch self.membership {
        case .all: return nil
        case .owned(_, let place, _), .paired(_, _, _, let place, _): return place
        }
    }

    package var isPaired: Bool {
        if case .paired = self.membership { true } else { false }
    }

    /// Whether a row's membership or key depends on more than its own values, or totals need the values of the rows.
    package var isComputed: Bool {
        self.isPaired || !self.related.isEmpty || !self.totals.isEmpty || !(self.filter?.isOwn ?? true)
    }

    /// All values of other objects that it reads.
    package var relatedValues: [RelatedValue] { self.related + (self.filter?.relatedValues ?? []) }

    package func hasKind(_ entity: EntityNumber) -> Bool { self.kinds.contains(entity) }
}

/// A value over all rows of a result, and over those of each section.
package enum ResultTotal: Hashable, Sendable {
    case count
    /// A function of a column, whose values have a type.
    case function(AggregateFunction, column: Int, AttributeType)
}

/// One sort key: a value of the rows, and its order.
package struct SortTerm: Hashable, Sendable {
    package enum Operand: Hashable, Sendable {
        case slot(Int)
        /// An index in `ResultSource.related`.
        case related(Int)
    }

    package var operand: Operand
    package var order: OrderTerm

    package init(_ operand: Operand, _ order: OrderTerm) {
        self.operand = operand
        self.order = order
    }

    package var slot: Int? {
        if case .slot(let slot) = self.operand { slot } else { nil }
    }
}
