import NestModel

/// Checks that a write was executed as its outcomes report, at most once.
enum WriteCheck {
    static func violations(_ write: Write, _ timeline: Timeline) -> [Violation] {
        write.kind == .write ? self.ofTransaction(write, timeline) : self.ofRevert(write, timeline)
    }

    /// The revision of an undo or redo is known only from its receipts.
    private static func ofRevert(_ write: Write, _ timeline: Timeline) -> [Violation] {
        var violations = self.observationViolations(write)
        let receipts = write.answers.compactMap { if case .receipt(let receipt) = $0 { receipt } else { nil } }
        let revisions = Set(receipts.filter(\.isChanged).map(\.revision))
        if revisions.count > 1 {
            violations.append(
                Violation(.atMostOnce, "'\(write.name)' has \(revisions.count) revisions: \(revisions.sorted())")
            )
        }
        for revision in revisions {
            guard let entry = timeline[revision] else {
                violations.append(Violation(.durable, "'\(write.name)' was acknowledged at \(revision) and is lost"))
                continue
            }
            if entry.kind != write.kind {
                violations.append(
                    Violation(.durable, "'\(write.name)' was acknowledged at \(revision), which is a \(entry.kind)")
                )
            }
        }
        return violations
    }

    /// Checks that no two undos or redos have the same revision, and that the store has no more of them than were
    /// requested.
    static func violations(ofReverts writes: [Write], _ timeline: Timeline) -> [Violation] {
        var violations: [Violation] = []
        var owners: [Revision: String] = [:]
        var possible = 0
        for write in writes where write.kind != .write {
            var mayBeDone = false
            for answer in write.answers {
                switch answer {
                case .refused: break
                case .unknown: mayBeDone = true
                case .receipt(let receipt):
                    guard receipt.isChanged else { break }
                    mayBeDone = true
                    if let other = owners[receipt.revision], other != write.name {
                        let message = "'\(write.name)' and '\(other)' are both acknowledged at \(receipt.revision)"
                        violations.append(Violation(.atMostOnce, message))
                    }
                    owners[receipt.revision] = write.name
                }
            }
            if mayBeDone { possible += 1 }
        }
        let count = timeline.entries.count { $0.reverted != nil }
        if count > possible {
            violations.append(Violation(.atMostOnce, "\(count) undos or redos executed, \(possible) requested"))
        }
        let twice = Dictionary(grouping: timeline.entries.compactMap(\.reverted)) { $0 }.filter { $0.value.count > 1 }
        for revision in twice.keys.sorted() {
            violations.append(Violation(.reversible, "revision \(revision) was reverted more than once"))
        }
        return violations
    }

    private static func observationViolations(_ write: Write) -> [Violation] {
        write.observations.filter { $0.arrived < $0.receipt }.map { observation in
            let (subscription, arrived) = (observation.subscription, observation.arrived)
            let message = "\(subscription) was at \(arrived) when '\(write.name)' got receipt \(observation.receipt)"
            return Violation(.readYourWrites, message)
        }
    }

    private static func ofTransaction(_ write: Write, _ timeline: Timeline) -> [Violation] {
        var violations: [Violation] = []
        let revisions = timeline.revisions[write.name] ?? []
        if revisions.count > 1 {
            violations.append(
                Violation(.atMostOnce, "'\(write.name)' has \(revisions.count) revisions: \(revisions)")
            )
        }
        let receipts = write.answers.compactMap { if case .receipt(let receipt) = $0 { receipt } else { nil } }
        for receipt in receipts { violations += Self.violations(write, receipt, revisions, timeline) }
        // "Refused" and "changed nothing" describe one attempt and are not stored: another attempt with unknown outcome
        // may have been executed before or after it.
        let denials = write.answers.filter { answer in
            switch answer {
            case .refused: true
            case .receipt(let receipt): !receipt.isChanged
            case .unknown: false
            }
        }
        if denials.count == write.answers.count, let denial = denials.first, let revision = revisions.first {
            violations.append(
                Violation(.atMostOnce, "'\(write.name)' was answered \(denial) but was executed at \(revision)")
            )
        }
        return violations + self.observationViolations(write)
    }

    private static func violations(
        _ write: Write,
        _ receipt: Receipt,
        _ revisions: [Revision],
        _ timeline: Timeline
    ) -> [Violation] {
        guard receipt.isChanged else { return [] }
        guard let revision = revisions.first, let entry = timeline[revision] else {
            return [Violation(.durable, "'\(write.name)' was acknowledged at \(receipt.revision) and is lost")]
        }
        guard revisions.contains(receipt.revision) else {
            return [
                Violation(.atMostOnce, "'\(write.name)' is at \(revision), but its receipt says \(receipt.revision)")
            ]
        }
        let ids = entry.objects.filter { $0.kind == .inserted }.map(\.id).sorted()
        guard receipt.insertedIDs == ids else {
            return [
                Violation(.atMostOnce, "'\(write.name)' inserted \(ids), but its receipt says \(receipt.insertedIDs)")
            ]
        }
        return []
    }
}
