import NestHistory
import NestModel
import NestTestSupport

/// Random edits of the list: one step or several together, some of which the store must refuse.
enum ChaosEdits {
    /// The list grows to about so many rows.
    private static let rowsWanted = 40

    /// - Parameters:
    ///   - ids: three objects that may be there, or fewer.
    ///   - known: how many there may be.
    static func next(
        _ number: String,
        of list: ObjectID,
        _ ids: [ObjectID],
        known: Int,
        _ random: inout SeededRandom
    ) -> [Mutation] {
        guard ids.count == 3, known > 5 else { return [self.insert(number, list, nil, &random)] }
        if known > self.rowsWanted, random.oneIn(2) { return ids.prefix(2).map { .delete(.object($0)) } }
        switch random.below(9) {
        case 0, 1: return [self.insert(number, list, ids[0], &random)]
        case 2: return (1...3).map { self.insert("\(number) \($0)", list, $0 == 1 ? ids[0] : nil, &random) }
        case 3: return [ListModel.rename(ids[0], self.title(number, &random))]
        case 4:
            // The same for several: nobody may see it of some only.
            let title = self.title(number, &random)
            return ids.map { ListModel.rename($0, title) }
        case 5: return ids.prefix(random.oneIn(2) ? 1 : 3).map { ListModel.mark($0, isDone: random.oneIn(2)) }
        case 6: return [ListModel.move(ids[0], under: list, self.place(ids[1], &random))]
        case 7: return [.delete(.object(ids[0])), self.insert(number, list, ids[1], &random)]
        default:
            return [ListModel.rename(list, "list \(number)"), ListModel.rename(ids[0], self.title(number, &random))]
        }
    }

    /// Long notes that compression does not shorten much, of which a connection that stands still soon has too many.
    static func notes(_ number: String, _ ids: [ObjectID], _ random: inout SeededRandom) -> [Mutation] {
        ids.map { id in
            let words = (0..<1_000 + random.below(2_500)).map { _ in String(random.next(), radix: 36) }
            return ListModel.annotate(id, "\(number) \(words.joined())")
        }
    }

    /// Of few letters, so that sections come and go; now and then so long that a slow connection falls behind.
    private static func title(_ number: String, _ random: inout SeededRandom) -> String {
        let title = "\(["A", "B", "C", "D", "E", "É", "Ω"][random.below(7)]) \(number)"
        return random.oneIn(12) ? title + String(repeating: ".", count: random.below(8_000)) : title
    }

    private static func insert(
        _ number: String,
        _ list: ObjectID,
        _ other: ObjectID?,
        _ random: inout SeededRandom
    ) -> Mutation {
        ListModel.insert(
            self.title(number, &random),
            isDone: random.oneIn(2),
            under: list,
            other.map { self.place($0, &random) } ?? .last
        )
    }

    private static func place(_ other: ObjectID, _ random: inout SeededRandom) -> Place {
        switch random.below(5) {
        case 0: .first
        case 1: .after(.object(other))
        case 2: .before(.object(other))
        case 3: .at(random.below(20))
        default: .last
        }
    }
}
