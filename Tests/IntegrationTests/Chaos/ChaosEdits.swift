import NestHistory
import NestModel
import NestTestSupport

/// Random edits of the list, with one or several mutations. The store must refuse some of them.
enum ChaosEdits {
    /// The approximate number of rows to which the list grows.
    private static let rowsWanted = 40

    /// Returns the mutations of the next edit.
    ///
    /// - Parameters:
    ///   - ids: up to three objects that may exist.
    ///   - known: the number of objects that may exist.
    static func next(
        _ number: String,
        of list: ObjectID,
        _ ids: [ObjectID],
        known: Int,
        _ random: inout SeededRandom
    ) -> [Mutation] {
        guard ids.count == 3, known > 5 else { return [self.insert(number, list, nil, &random)] }
        if known > self.rowsWanted, random.oneIn(2) { return ids.prefix(2).map { .delete(.object($0)) } }
        switch random.below(12) {
        case 0, 1: return [self.insert(number, list, ids[0], &random)]
        case 2: return (1...3).map { self.insert("\(number) \($0)", list, $0 == 1 ? ids[0] : nil, &random) }
        case 3: return [ListModel.rename(ids[0], self.title(number, &random))]
        case 4:
            // The same title for several rows: no client may see only some of the changes.
            let title = self.title(number, &random)
            return ids.map { ListModel.rename($0, title) }
        case 5: return ids.prefix(random.oneIn(2) ? 1 : 3).map { ListModel.mark($0, isDone: random.oneIn(2)) }
        case 6: return [ListModel.move(ids[0], under: list, self.place(ids[1], &random))]
        case 7: return [.delete(.object(ids[0])), self.insert(number, list, ids[1], &random)]
        // Sub-trees, for outlines. A move below itself is refused.
        case 8: return [self.insert(number, ids[0], nil, &random)]
        case 9: return [ListModel.move(ids[0], under: ids[1], self.end(&random))]
        case 10: return [0, 1].map { ListModel.move(ids[$0], under: ids[$0 + 1], self.end(&random)) }
        default:
            return [ListModel.rename(list, "list \(number)"), ListModel.rename(ids[0], self.title(number, &random))]
        }
    }

    /// Returns edits with long notes that compress badly, which soon fill the output buffers of a stalled connection.
    static func notes(_ number: String, _ ids: [ObjectID], _ random: inout SeededRandom) -> [Mutation] {
        ids.map { id in
            let words = (0..<1_000 + random.below(2_500)).map { _ in String(random.next(), radix: 36) }
            return ListModel.annotate(id, "\(number) \(words.joined())")
        }
    }

    /// Returns a title with one of a few first letters, so that sections appear and disappear. Some titles are so long
    /// that a slow connection lags.
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

    private static func end(_ random: inout SeededRandom) -> Place { random.oneIn(2) ? .first : .last }

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
