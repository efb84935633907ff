import NestModel
import NestProtocol

/// What the client reads from its cache.
extension ClientCore {
    private func isShared(_ request: ObjectFetchRequest) -> Bool { self.machine.isShared(request) }

    /// Reads and checks the cached state of a request, away from the event loop. `nil`: there is none, or another
    /// subscription of this client has the state.
    @concurrent nonisolated func cached(_ request: ObjectFetchRequest) async -> LoadedView? {
        guard let cache = self.configuration.cache, await !self.isShared(request) else { return nil }
        let key = request.cacheKey
        guard let view = await cache.view(key) else { return nil }
        guard view.identity == self.cacheIdentity else {
            cache.record([.remove(request: key, reason: "the cached state is of another token or store")])
            return nil
        }
        do throws(CacheFault) {
            let loaded = try view.load(as: request)
            guard let folds = loaded.folds, let outline = request.outline else { return loaded }
            return folds.continues(outline) ? loaded : nil
        } catch {
            cache.record([.remove(request: key, reason: "the cached state cannot be used: \(error)")])
            return nil
        }
    }

    /// The model of an earlier run, if there was no connection yet.
    func cachedModel() async -> KnownModel? {
        guard self.machine.welcome == nil, let cached = await self.configuration.cache?.model(),
            cached.identity == self.cacheIdentity
        else { return nil }
        let message = try? ByteReader.read(cached.bytes) { reader throws(DecodingFailure) in
            try ModelMessage(from: &reader)
        }
        guard let message else { return nil }
        let model = KnownModel(model: message.model, hash: cached.hash)
        return self.machine.begin(with: model) ? model : self.machine.currentModel
    }
}
