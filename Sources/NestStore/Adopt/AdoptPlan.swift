import NestModel
import NestSchema

/// Where each property of a model is in a store of Core Data.
struct AdoptPlan {
    /// A table of objects.
    struct Objects {
        let layout: EntityLayout
        let table: SourceLayout.Table
        /// By `Z_ENT`.
        let kinds: [Int64: EntityLayout.Kind]
        /// By slot.
        let slots: [Slot]
    }

    enum Slot {
        case attribute(column: String, AttributeDescription, isExternal: Bool)
        case reference(Reference)
    }

    struct Reference {
        let column: String
        /// The column with the order among the objects of one owner.
        let order: String?
        let destination: Destination
        /// The destination's column that leads back, if both sides are to-one.
        let partner: String?
    }

    struct Destination {
        let table: SourceLayout.Table
        /// The number of the table among the layouts.
        let index: Int
        /// The values of `Z_ENT` of the objects that it may lead to.
        let entities: Set<Int64>
    }

    /// The pairs of a many-to-many relationship, or of a one-way to-many relationship.
    struct Pairs {
        let layout: EntityLayout
        /// What the report calls them, such as `Note.tags`, and the side of the notes.
        let name: String
        let owner: Int
        /// The table that has them: one of pairs, or that of the objects on the second side.
        let table: SourceLayout.Table
        /// By side: the column with the `Z_PK` of an object.
        let columns: [String]
        /// By place of the layout: the column with the order.
        let orders: [String]
        /// By side.
        let destinations: [Destination]
        let isSymmetric: Bool
    }

    var objects: [Objects] = []
    var pairs: [Pairs] = []
    /// Differences that forbid this version.
    var missing: [String] = []
    /// Columns with another type than Core Data would give them.
    var otherTypes: [String] = []
    /// Columns and tables that the version has no place for.
    var unreadColumns: [String] = []
    var unreadTables: [String] = []
    /// Columns that could be those of several properties: rows of other entities must not have a value in them.
    var contested: [(table: SourceLayout.Table, column: String, owners: [Int64], property: String)] = []

    var fits: Bool { self.missing.isEmpty }
    /// The less, the better.
    var differenceCount: Int { self.otherTypes.count + self.unreadColumns.count + self.unreadTables.count }
}
