/// Which objects are the rows of a result, and in which order: part of what makes two requests share one.
///
/// Compiled from a fetch request, so that nothing is looked up by property on the way of a commit.
package struct ResultSource: Hashable, Sendable {
    package enum Membership: Hashable, Sendable {
        /// Every object of the kinds.
        case all
        /// Those whose slot points to the owner: a to-many relationship whose other side is to-one. `place` is the slot's
        /// of `ObjectRow.places`; `nil` when the relationship has no order.
        case owned(slot: Int, place: Int?, owner: ObjectID)
        /// Those that stand in a pair with the owner: a relationship that is to-many on both sides. `place` is the owner
        /// slot's, of the pair's row.
        case paired(join: EntityNumber, ownerSlot: Int, targetSlot: Int, place: Int?, owner: ObjectID)
    }

    /// The requested entity.
    package var entity: EntityNumber
    /// The topmost entity of the table that holds the rows.
    package var table: EntityNumber
    /// Entities whose objects are rows, ascending.
    package var kinds: [EntityNumber]
    /// The membership alone may lead to objects that are no rows: of other kinds, or not admitted by the filter.
    package var isFiltered: Bool
    package var membership: Membership
    /// Which of the objects are rows; `nil`: all of them.
    package var filter: RowFilter? {
        didSet { if self.filter != nil { self.isFiltered = true } }
    }
    /// Stands over the order of the relationship when it is not empty; either is completed by the ids.
    package var sort: [SortTerm]

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

    /// The object whose relationship it is.
    package var owner: ObjectID? {
        switch self.membership {
        case .all: nil
        case .owned(_, _, let owner), .paired(_, _, _, _, let owner): owner
        }
    }

    /// The place that orders the rows; `nil` when something else does.
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

    package func hasKind(_ entity: EntityNumber) -> Bool { self.kinds.contains(entity) }

    /// Whether an object of the membership is a row.
    package func admits(_ id: ObjectID, _ row: ObjectRow) -> Bool {
        self.hasKind(row.entity) && (self.filter?.admits(id, row) ?? true)
    }
}

/// One key of an order: an attribute of the rows, and how its values are written so that their bytes are in its order.
package struct SortTerm: Hashable, Sendable {
    package enum Form: UInt8, Sendable {
        case text
        case decimal
        /// As many bytes as the number needs; null is possible.
        case integer
        /// Always eight bytes; there are no nulls.
        case wideInteger
        case double
        case boolean
        case data
        case uuid
    }

    package var slot: Int
    package var isAscending: Bool
    package var form: Form

    package init(slot: Int, isAscending: Bool = true, form: Form) {
        self.slot = slot
        self.isAscending = isAscending
        self.form = form
    }
}

extension SortTerm.Form {
    /// `isAlone`: the only key of its order. A number alone takes eight bytes whatever it is; among others it is as short as
    /// it can be, so that most orders by two of them take no more.
    package init(_ attribute: AttributeDescription, isAlone: Bool) {
        switch attribute.type {
        case .string, .uri: self = .text
        case .decimal: self = .decimal
        case .integer, .integer16, .integer32, .date:
            self = isAlone && !attribute.isOptional ? .wideInteger : .integer
        case .double, .float: self = .double
        case .boolean: self = .boolean
        case .data: self = .data
        case .uuid: self = .uuid
        }
    }
}
