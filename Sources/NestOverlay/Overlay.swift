import NestModel

/// Lays pending transactions over the server's states of some views. A pure function: the same views and transactions
/// give the same rows, whatever was shown before.
///
/// 1. The rows of all views say what is known of the objects.
/// 2. The transactions run on that, in their order (`KnownObjects`).
/// 3. For each view and each object that they change it is decided whether it is a row: yes, no, or not known.
/// 4. Rows that are in, and that changed their place, are placed by the order of the view.
///
/// What is not known stays as the server has it. So the overlay may show too little, but nothing that is false. O(n + k
/// log k) for n rows of the views and k changed objects; a step in a list costs O(its rows), deletes and changes of
/// one-to-one relationships O(n) each.
package enum Overlay {
    /// Returns the views with the transactions laid over them, in the order of `views`. Precondition: the views show
    /// the same revision.
    package static func laid(
        over views: [OverlayView],
        _ transactions: [UnconfirmedTransaction],
        in model: ManagedObjectModel
    ) -> Overlaid {
        guard !transactions.isEmpty else {
            let unchanged = views.map { OverlaidView(state: $0.state, pending: [], undecided: [], doubts: 0) }
            return Overlaid(views: unchanged, refused: [])
        }
        var known = KnownObjects(ShownRows(views, model))
        var refused: [Int] = []
        for (index, transaction) in transactions.enumerated() where !known.run(transaction) { refused.append(index) }
        let paths = KnownPaths(known: known)
        let laid = views.indices.map { index in
            guard let shape = known.shown.shapes[index] else {
                return OverlaidView(state: views[index].state, pending: [], undecided: [], doubts: 1)
            }
            if shape.request.outline != nil {
                var laid = LaidOutline(index, shape, paths)
                return laid.finish()
            }
            var laid = LaidView(index, shape, paths)
            return laid.finish()
        }
        return Overlaid(views: laid, refused: refused)
    }
}

/// A transaction that the server has not confirmed.
package struct UnconfirmedTransaction: Sendable {
    package let mutations: [Mutation]
    /// When it was made, in microseconds since 1970: the estimated value of attributes that default to the time of the
    /// commit.
    package let time: Int64

    package init(_ mutations: [Mutation], time: Int64) {
        self.mutations = mutations
        self.time = time
    }
}

/// Views with transactions laid over them.
package struct Overlaid: Sendable {
    package let views: [OverlaidView]
    /// The indexes of the transactions that the server must refuse, by what is known. They change nothing.
    package let refused: [Int]
}
