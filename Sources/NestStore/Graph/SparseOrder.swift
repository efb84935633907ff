import NestModel
import NestSchema

/// The sparse positions of the objects of one owner: numbers with gaps, so that putting an object between two others
/// writes one row. When a gap runs out, the smallest enclosing range that is not too dense is renumbered evenly.
///
/// Amortised O(log n) rows per insertion. (Bender, Cole, Demaine, Farach-Colton, Zito: "Two simplified algorithms for
/// maintaining order in a list", 2002, the first of them.)
struct SparseOrder {
    /// The distance at which objects are appended. Tests use a smaller one so that gaps run out sooner.
    static let step: Int64 = 1 << 32
    private static let positionMax: Int64 = 1 << 61
    /// How fast the allowed density falls as ranges grow: a range of 2^i positions may hold (2 / density)^i objects.
    private static let density = 1.4

    let table: EntityTable
    let place: Int
    let owner: ObjectID
    let recorder: ChangeRecorder

    /// Returns a free position directly after `left` (`nil`: at the front), or `preferred` if that is one. Ignores the
    /// object `excluding`, which is about to be placed. Renumbers neighbours if there is no gap.
    func position(
        after left: ObjectID?,
        leftPosition: Int64?,
        excluding: ObjectID?,
        preferred: Int64? = nil
    ) throws(StoreError) -> Int64 {
        let right = try self.neighbour(after: leftPosition, excluding: excluding)
        if let preferred, preferred > leftPosition ?? .min, preferred < right?.position ?? .max { return preferred }
        switch (leftPosition, right) {
        case (nil, nil):
            return 0
        case (let left?, nil):
            if left < Self.positionMax - Self.step { return left + self.recorder.orderStep }
        case (nil, let right?):
            if right.position > -Self.positionMax + Self.step { return right.position - self.recorder.orderStep }
        case (let left?, let right?):
            if right.position - left >= 2 { return left + (right.position - left) / 2 }
        }
        return try self.makeRoom(after: left, around: leftPosition ?? right!.position, excluding: excluding)
    }

    /// Returns a free position after all objects but `excluding`. Takes one read, `position` would take two.
    func positionAtEnd(excluding: ObjectID?) throws(StoreError) -> Int64 {
        guard let last = try self.neighbour(before: nil, excluding: excluding) else { return 0 }
        if last.position < Self.positionMax - Self.step { return last.position + self.recorder.orderStep }
        return try self.makeRoom(after: last.id, around: last.position, excluding: excluding)
    }

    /// Returns the first object after a position (`nil`: of all) that is not `excluding`.
    func neighbour(after position: Int64?, excluding: ObjectID?) throws(StoreError) -> (id: ObjectID, position: Int64)?
    {
        var next =
            if let position {
                try self.table.neighbour(.after, owner: self.owner, place: self.place, position: position)
            } else {
                try self.table.neighbour(.first, owner: self.owner, place: self.place)
            }
        if let found = next, found.id == excluding {
            next = try self.table.neighbour(.after, owner: self.owner, place: self.place, position: found.position)
        }
        return next
    }

    /// Returns the last object before a position (`nil`: of all) that is not `excluding`.
    func neighbour(before position: Int64?, excluding: ObjectID?) throws(StoreError) -> (id: ObjectID, position: Int64)?
    {
        var next =
            if let position {
                try self.table.neighbour(.before, owner: self.owner, place: self.place, position: position)
            } else {
                try self.table.neighbour(.last, owner: self.owner, place: self.place)
            }
        if let found = next, found.id == excluding {
            next = try self.table.neighbour(.before, owner: self.owner, place: self.place, position: found.position)
        }
        return next
    }

    /// Renumbers the smallest range around a position that is not too dense, and leaves a gap after `left`. Returns the
    /// position of the gap.
    private func makeRoom(after left: ObjectID?, around position: Int64, excluding: ObjectID?) throws(StoreError)
        -> Int64
    {
        var bits: Int64 = 6
        while true {
            let size: Int64 = 1 << bits
            let low = (position >> bits) << bits
            // The allowed number of objects is a power of the size. A range of 2^62 positions always has room.
            let countMax = bits >= 62 ? Int.max : Int(Self.power(2 / Self.density, bits))
            let objects = try self.table.objects(
                ofOwner: self.owner,
                place: self.place,
                in: low...(low + (size - 1)),
                limit: min(countMax, Int.max - 2) + 1
            ).filter { $0.id != excluding }
            if objects.count < countMax || bits >= 62 {
                return try self.spread(objects, after: left, low: low, size: size)
            }
            bits += 1
        }
    }

    private func spread(
        _ objects: [(id: ObjectID, position: Int64)],
        after left: ObjectID?,
        low: Int64,
        size: Int64
    ) throws(StoreError) -> Int64 {
        let distance = size / Int64(objects.count + 1)
        precondition(distance >= 1, "a range of \(size) positions holds \(objects.count) objects")
        var next = low + distance / 2
        var free: Int64?
        if left == nil {
            free = next
            next += distance
        }
        for object in objects {
            if object.position != next {
                try self.table.reposition(object.id, place: self.place, to: next)
                self.recorder.recordReposition(
                    Reposition(
                        entity: self.table.layout.number,
                        property: self.table.layout.properties[self.table.layout.placedSlots[self.place]],
                        owner: self.owner,
                        id: object.id,
                        oldPosition: object.position,
                        newPosition: next
                    ),
                    place: self.place
                )
            }
            next += distance
            if object.id == left {
                free = next
                next += distance
            }
        }
        guard let free else {
            throw .corrupt(
                path: self.table.path,
                reason: "\(self.table.layout.name): two objects have the same position"
            )
        }
        return free
    }

    private static func power(_ base: Double, _ exponent: Int64) -> Double {
        var result = 1.0
        for _ in 0..<exponent { result *= base }
        return result
    }
}
