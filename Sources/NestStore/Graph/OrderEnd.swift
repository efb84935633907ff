import NestModel
import NestSchema

/// The last object of one owner's order. It is cached because objects are often appended to the same owner several
/// times in a row.
///
/// Inserts update it. It is discarded when anything else changes an order of the table, and on a rollback.
struct OrderEnd {
    let owner: ObjectID
    let place: Int
    private(set) var id: ObjectID
    private(set) var position: Int64

    init(owner: ObjectID, place: Int, id: ObjectID, position: Int64) {
        self.owner = owner
        self.place = place
        self.id = id
        self.position = position
    }

    func isOf(_ owner: ObjectID, _ place: Int) -> Bool { self.owner == owner && self.place == place }

    /// Updates the end after an object has been inserted into the table.
    mutating func note(_ id: ObjectID, _ row: ObjectRow, _ layout: EntityLayout) {
        guard row.places[self.place].position > self.position,
            row.values.reference(layout.placedSlots[self.place]) == self.owner
        else { return }
        self.id = id
        self.position = row.places[self.place].position
    }
}
