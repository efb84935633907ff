import NestModel

/// What a migration does to a store, or would do.
package struct MigrationReport: Sendable {
    /// Something in the store that a new model has no place for.
    package struct Loss: Sendable, Hashable {
        package enum Unit: String, Sendable {
            case objects, values, links, positions, tokens
        }

        /// What is gone, for people: `User.age is gone`.
        package var what: String
        package var count: Int64
        package var unit: Unit

        package var text: String {
            let unit = self.count == 1 ? String(self.unit.rawValue.dropLast()) : self.unit.rawValue
            return "\(self.what), with \(self.count) \(unit)"
        }
    }

    /// All differences between the stored model and the new one.
    package var differences: [ModelDifference] = []
    /// For each removed part of the model what the store holds of it, also if that is nothing; and tokens that lose
    /// their sub-trees.
    package var removals: [Loss] = []
    /// Why the store cannot be migrated.
    package var obstacles: [String] = []
    /// The number of objects in the tables that are written anew.
    package var rewrittenCount: Int64 = 0
    /// The path of the copy of the store from before the migration; `nil` if the store has not been migrated.
    package var copyPath: String?

    package init() {}

    /// What is lost.
    package var losses: [Loss] { self.removals.filter { $0.count > 0 } }
}

/// The parts of a stored model that a migration may remove.
package enum MigrationRemovals: Sendable {
    case none
    /// Parts without objects, values or links.
    case unused
    /// Also what is in the store.
    case all
}
