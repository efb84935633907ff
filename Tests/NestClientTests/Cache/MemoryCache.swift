import NestClient
import NestModel
import Testing

/// What a cache keeps, in memory: it follows the rules of `CacheAppend`.
struct MemoryCache {
    private(set) var views: [[UInt8]: CachedView] = [:]
    private(set) var appendCount = 0

    mutating func record(_ change: CacheChange) {
        switch change {
        case .model: break
        case .replace(let view): self.views[view.request] = view
        case .append(let append):
            guard var view = self.views[append.request],
                append.follows(recording: view.recording, sequence: view.sequence, revision: view.revision)
            else { return }
            self.appendCount += 1
            view.frames += append.frames
            view.sequence += append.frames.count
            view.revision = append.revision
            view.digest = append.digest
            self.views[append.request] = view
        case .remove(let request, _): self.views[request] = nil
        }
    }

    /// Checks the cached view of a request, if there is one: it can be loaded and rewritten, and the server has had
    /// this state. If the server sends wrong diffs, loading may fail. Returns whether the state was compared.
    func check(_ request: ObjectFetchRequest, _ server: PlainServer, _ label: String) -> Bool {
        guard let view = self.views[request.cacheKey] else { return false }
        do throws(CacheFault) {
            let loaded = try view.load(as: request)
            #expect(try view.rewritten().load(as: request).state == loaded.state, "\(label)")
            guard view.historyID == server.historyID, !server.isFaulty else { return false }
            let key = PlainServer.Key(request)
            let isRight = server.hasHad(loaded.state, of: key, since: server.historyNumber, checksPosition: false)
            #expect(isRight, "\(label): the cached state is none of the server")
            return true
        } catch {
            #expect(server.isFaulty, "\(label): the cached state cannot be loaded: \(error)")
            return false
        }
    }
}
