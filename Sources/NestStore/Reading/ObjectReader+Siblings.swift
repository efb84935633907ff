import NestModel
import NestSchema

/// Looks for the neighbours of an object in its owner's order.
extension ObjectReader {
    /// Returns the object of an owner that is next to the left of a position; `nil` if there is none. `place`: the
    /// position's index in the rows of the table. O(log n).
    package func left(
        of position: Int64,
        owner: ObjectID,
        _ table: EntityNumber,
        place: Int
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        try self.table(table).neighbour(.before, owner: owner, place: place, position: position)
    }
}
