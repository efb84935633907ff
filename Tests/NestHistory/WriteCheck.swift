import NestModel

/// A write is there once or not at all, as its answers say.
enum WriteCheck {
    static func violations(_ write: Write, _ timeline: Timeline) -> [Violation] {
        var violations: [Violation] = []
        let revisions = timeline.revisions[write.name] ?? []
        if revisions.count > 1 {
            violations.append(
                Violation(.atMostOnce, "'\(write.name)' was done \(revisions.count) times, at \(revisions)")
            )
        }
        let receipts = write.answers.compactMap { if case .receipt(let receipt) = $0 { receipt } else { nil } }
        for receipt in receipts { violations += Self.violations(write, receipt, revisions, timeline) }
        // "Refused" and "changed nothing" are said of one attempt and not remembered: another whose outcome is unknown may
        // have been executed before or after it.
        let denials = write.answers.filter { answer in
            switch answer {
            case .refused: true
            case .receipt(let receipt): !receipt.isChanged
            case .unknown: false
            }
        }
        if denials.count == write.answers.count, let denial = denials.first, let revision = revisions.first {
            violations.append(
                Violation(.atMostOnce, "'\(write.name)' was answered \(denial) and is there at \(revision)")
            )
        }
        for sight in write.sights where sight.arrived < sight.receipt {
            let message =
                "with the receipt of '\(write.name)' at \(sight.receipt), \(sight.subscription) was at \(sight.arrived)"
            violations.append(Violation(.readYourWrites, message))
        }
        return violations
    }

    private static func violations(
        _ write: Write,
        _ receipt: Receipt,
        _ revisions: [Revision],
        _ timeline: Timeline
    ) -> [Violation] {
        guard receipt.isChanged else { return [] }
        guard let revision = revisions.first, let entry = timeline[revision] else {
            return [Violation(.durable, "'\(write.name)' was acknowledged at \(receipt.revision) and is gone")]
        }
        guard revisions.contains(receipt.revision) else {
            return [
                Violation(.atMostOnce, "'\(write.name)' is there at \(revision), its receipt says \(receipt.revision)")
            ]
        }
        let ids = entry.objects.filter { $0.kind == .inserted }.map(\.id).sorted()
        guard receipt.insertedIDs == ids else {
            return [
                Violation(.atMostOnce, "'\(write.name)' inserted \(ids), its receipt says \(receipt.insertedIDs)")
            ]
        }
        return []
    }
}
