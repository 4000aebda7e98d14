#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Explicit-state check of docs/recorder.md (small bounds, every interleaving, every crash point).

Actors: app threads (dispatch; take and publish events), GPU (completes), harvester (harvest, seal,
publish, free, send, ack), socket (FIFO), collector (recv, commit, ack), crashes: kill rank, kill
collector (fd kept / not kept), connection loss. Checked in every terminal state: each dispatch is
in exactly one of stored / outstanding / dropped / torn, each event in one of stored / dropped /
not published; nothing stored twice; an acked frame is committed.

usage: recorder_model.py dispatches|events [MISTAKE]

RTL_TEST_LONG=1: a dispatch more."""
import os
import sys
from collections import deque
WHAT = sys.argv[1]
BUG = sys.argv[2] if len(sys.argv) > 2 else ''
NC, FREC = 2, 2                          # cells, records a frame
# slots, dispatches, entries of the ring, events, kills of rank and collector, connections lost
MORE = 1 if os.environ.get('RTL_TEST_LONG') else 0
NS, ND, NR, NE, KILLS = {'dispatches': (2, 3 + MORE, 0, 0, (1, 2, 1)), 'events': (1, 1, 2, 3, (1, 1, 1))}[WHAT]
FREE, SUB, DONE = 0, 1, 2
TAKEN, WHOLE = 1, 2
EV = 100                                 # the records of events are EV, EV + 1, ...: two kinds in turn
# state: (slots, cells, nextd, F, hstep, dropped, acked, sentF, sock, ackq, db, hw, outst, alive, calive, conn, kills, drained, old)
# slot=(st,rec,frame,gpu_done)  entry=(st,rec,frame,position)  cell=(number,recs)
# An index from NS on is an entry's; ev = events made, positions taken, dropped ones.  hstep=('idle',) | ('label',F,todo,recs) | ('pub',F,recs) | ('free',F,todo)
def init():
    return (tuple((FREE,-1,0,0) for _ in range(NS+NR)), tuple((0,()) for _ in range(NC)), 0, 1, ('idle',), (), 0, 0,
            (), (), (), 0, (), 1, 1, 1, KILLS, 0, (), (0, 0, ()))
def rep(t,i,v): return t[:i]+(v,)+t[i+1:]
def succ(s):
    (sl,ce,nd,F,h,dr,ak,sent,sock,aq,db,hw,out,al,ca,co,k,drn,old,ev)=s
    def mk(**kw):
        d=dict(sl=sl,ce=ce,nd=nd,F=F,h=h,dr=dr,ak=ak,sent=sent,sock=sock,aq=aq,db=db,hw=hw,out=out,al=al,ca=ca,co=co,k=k,drn=drn,old=old,ev=ev); d.update(kw)
        return tuple(d[x] for x in ('sl','ce','nd','F','h','dr','ak','sent','sock','aq','db','hw','out','al','ca','co','k','drn','old','ev'))
    if al:
        if nd<ND:                                            # dispatch: seq first, then slot or drop
            f=[i for i in range(NS) if sl[i][0]==FREE and not (h[0]=='free' and i in h[2])]
            if f: yield mk(sl=rep(sl,f[0],(SUB,nd,0,0)),nd=nd+1)
            else: yield mk(dr=dr+(nd,),nd=nd+1)
        made,pos,edr=ev
        if made<NE:                                          # event: take the next position, or drop
            i=NS+pos%NR
            if sl[i][0]==FREE: yield mk(sl=rep(sl,i,(TAKEN,EV+made,sl[i][2] if BUG=='oldlabel' else 0,pos)),ev=(made+1,pos+1,edr))
            else: yield mk(ev=(made+1,pos,edr+(EV+made,)))
        for i in range(NS,NS+NR):                            # ... publish, in any order
            if sl[i][0]==TAKEN: yield mk(sl=rep(sl,i,(WHOLE,)+sl[i][1:]))
        for i in range(NS):
            st,r,fr,g=sl[i]
            if st==SUB and not g: yield mk(sl=rep(sl,i,(st,r,fr,1)))                 # GPU ends, any order
            if st==SUB and g and h[0]=='idle': yield mk(sl=rep(sl,i,(DONE,r,fr,g)))  # harvest: times, then state
        if h[0]=='idle':
            todo=tuple(i for i in range(NS) if sl[i][0]==DONE)[:FREC]
            room = F-ak<=NC if BUG!='noack' else True
            if todo and room: yield mk(h=('label',F,todo,todo),ce=rep(ce,F%NC,(0,())))  # L0: open the cell
            whole=[]                                         # whole entries, oldest first, up to one that is not
            for i in sorted(range(NS,NS+NR),key=lambda i: sl[i][3]):
                if sl[i][0]==TAKEN: break
                if sl[i][0]==WHOLE: whole.append(i)
            for kind in (0,1):
                todo=tuple(i for i in whole if sl[i][1]%2==kind)[:FREC]
                if todo and room:
                    ns=sl
                    if BUG=='backfirst':
                        for i in todo: ns=rep(ns,i,(FREE,)+ns[i][1:])
                    yield mk(sl=ns,h=('label',F,todo,todo),ce=rep(ce,F%NC,(0,())))
        elif h[0]=='label':
            _,f,todo,al_=h
            if todo and BUG!='nolabel': yield mk(sl=rep(sl,todo[0],sl[todo[0]][:2]+(f,)+sl[todo[0]][3:]),h=('label',f,todo[1:],al_))
            else: yield mk(h=('pub',f,al_))
        elif h[0]=='pub':
            _,f,al_=h                                        # P: one release store publishes the frame
            yield mk(ce=rep(ce,f%NC,(f,tuple(sl[i][1] for i in al_))),F=f+1,h=('free',f,al_))
        elif h[0]=='free':
            _,f,todo=h
            # An entry keeps its label and its place in the order: only its turn goes on.
            if todo: yield mk(sl=rep(sl,todo[0],(FREE,-1,0,0) if todo[0]<NS else (FREE,)+sl[todo[0]][1:]),h=('free',f,todo[1:]))
            else: yield mk(h=('idle',))
        if co and sent+1<F:
            n=sent+1; c=ce[n%NC]
            if c[0]==n: yield mk(sent=n,sock=sock+((n,c[1]),))
        if co and aq: yield mk(ak=max(ak,aq[0]),aq=aq[1:])
        if not co and ca: yield mk(co=1,sent=hw,ak=max(ak,hw),sock=(),aq=(),old=old+sock)        # HELLO/WELCOME: resend from hw+1
        if co and k[2]: yield mk(co=0,sock=(),aq=(),old=old+sock,k=(k[0],k[1],k[2]-1))           # connection lost, both live
        if k[0]: yield mk(al=0,k=(k[0]-1,)+k[1:],aq=())                             # SIGKILL of the rank
    if ca:
        if sock and (co or not al):
            n,r=sock[0]                                       # commit rows + hw in one transaction
            if n==hw+1 or (BUG=='nodedupe'): yield mk(db=db+r,hw=n,sock=sock[1:],aq=(aq+(n,) if al and co else aq))
            else: yield mk(sock=sock[1:])
            if BUG=='ackfirst' and n==hw+1 and al and co: yield mk(aq=aq+(n,),sock=sock[1:])
        if old and (not drn or BUG=='late'):                  # bytes of an earlier connection, read late
            n,r=old[0]
            if n==hw+1 or BUG=='nodedupe': yield mk(db=db+r,hw=max(n,hw),old=old[1:])
            else: yield mk(old=old[1:])
        if k[1]: yield mk(ca=0,co=0,sock=(),aq=(),old=(),k=(k[0],k[1]-1,k[2]))             # SIGKILL of the collector
        if not al and not drn and (BUG!='' or True):
            # drain, one transaction; unread socket bytes are simply thrown away
            n=hw; rows=()
            while ce[(n+1)%NC][0]==n+1: rows+=ce[(n+1)%NC][1]; n+=1
            P=n; outs=()
            for st,r,fr,g in sl[:NS]:
                if st==FREE: continue
                if fr and fr<=P and BUG!='nolabelcheck': continue
                if st==DONE: rows+=(r,)
                else: outs+=(r,)
            for st,r,fr,g in sl[NS:]:
                if st!=WHOLE and not (BUG=='notwhole' and st==TAKEN): continue
                if fr and fr<=P and BUG!='noentrycheck': continue
                rows+=(r,)
            yield mk(db=db+rows,hw=P,out=out+outs,drn=1,sock=(),aq=(),old=())
    else: yield mk(ca=1)
def check(s,path):
    (sl,ce,nd,F,h,dr,ak,sent,sock,aq,db,hw,out,al,ca,co,k,drn,old,ev)=s
    assert len(set(db))==len(db),('stored twice',s)
    assert ak<=hw,('acked, not committed',s)
    if drn:
        torn=tuple(r for st,r,fr,g in sl[NS:] if st==TAKEN)
        events=sorted([r for r in db if r>=EV]+list(ev[2]+torn))
        assert events==list(range(EV,EV+ev[0])),('events lost or doubled',ev,events,s)
        have=sorted(r for r in db+out+dr if r<EV); assert have==list(range(nd)),('lost or doubled',nd,have,s)
seen={init():None}; q=deque([init()]); term=0
while q:
    s=q.popleft(); n=0
    try: check(s,None)
    except AssertionError as e: print('VIOLATION',BUG or 'none',e.args[0][:3]); sys.exit(1)
    for t in succ(s):
        n+=1
        if t not in seen: seen[t]=s; q.append(t)
    if len(seen)>6_000_000: print('bound'); break
print('ok: %d states, bug=%s, drained states %d'%(len(seen),BUG or '-',sum(1 for s in seen if s[-3])))
