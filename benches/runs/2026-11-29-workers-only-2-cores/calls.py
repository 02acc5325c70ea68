import subprocess,json,os,sys,time,statistics
env=dict(os.environ,HOME='/tmp/pp/home')
class C:
    def __init__(s,b,args):
        s.t0=time.perf_counter()
        s.p=subprocess.Popen([b]+args,stdin=subprocess.PIPE,stdout=subprocess.PIPE,stderr=subprocess.DEVNULL,env=env,cwd='/tmp/pp',bufsize=0)
        s.r=os.fdopen(os.dup(s.p.stdout.fileno()),'rb',1<<16); s.n=0
        s.req('initialize',{'protocolVersion':'2025-06-18','capabilities':{},'clientInfo':{'name':'x','version':'1'}})
        s.send({'jsonrpc':'2.0','method':'notifications/initialized'})
    def send(s,m): s.p.stdin.write((json.dumps(m)+'\n').encode())
    def req(s,m,p):
        s.n+=1; s.send({'jsonrpc':'2.0','id':s.n,'method':m,'params':p})
        while True:
            r=json.loads(s.r.readline())
            if r.get('id')==s.n: return r
    def call(s,name,a): return s.req('tools/call',{'name':name,'arguments':a})
    def many(s,name,a,k,total):
        first=s.n+1
        msgs=[]
        sent=0; got=0
        def one():
            s.n+=1; return (json.dumps({'jsonrpc':'2.0','id':s.n,'method':'tools/call','params':{'name':name,'arguments':a}})+'\n').encode()
        s.p.stdin.write(b''.join(one() for _ in range(k))); sent=k
        while got<total:
            s.r.readline(); got+=1
            if sent<total: s.p.stdin.write(one()); sent+=1
    def close(s):
        s.p.stdin.close(); s.p.wait()
def measure(b):
    c=C(b,['mcp','--tool','one.ts']); t=time.perf_counter(); r=c.call('one',{}); assert 'hi' in json.dumps(r); first=time.perf_counter()-t; start=time.perf_counter()-c.t0
    for _ in range(200): c.call('one',{})
    t=time.perf_counter()
    for _ in range(1000): c.call('one',{})
    seq=(time.perf_counter()-t)/1000
    c.many('one',{},64,2000)
    t=time.perf_counter(); c.many('one',{},64,4000); par=(time.perf_counter()-t)/4000
    pss=0; res=[]
    for pid in [c.p.pid]+[int(x) for x in subprocess.run(['pgrep','-P',str(c.p.pid)],capture_output=True,text=True).stdout.split()]:
        try:
            d=open(f'/proc/{pid}/smaps_rollup').read()
            pr=sum(int(l.split()[1]) for l in d.splitlines() if l.startswith('Private_'))
            pss+=pr
        except Exception: pass
    c.close()
    c=C(b,['mcp','--tool','one.ts']); time.sleep(.6); t=time.perf_counter(); c.call('one',{}); later=time.perf_counter()-t; c.close()
    c=C(b,['mcp','--code=only','--tool','one.ts']); time.sleep(.6)
    t=time.perf_counter(); r=c.call('run_code',{'code':'1+1'}); cold=time.perf_counter()-t
    for _ in range(20): c.call('run_code',{'code':'1+1'})
    t=time.perf_counter()
    for _ in range(50): c.call('run_code',{'code':'1+1'})
    warm=(time.perf_counter()-t)/50
    t=time.perf_counter(); r=c.call('run_code',{'code':'let s=0; for (let i=0;i<200;i++) { await tools.$types("one"); } s'}); hop=(time.perf_counter()-t-warm)/200
    c.close()
    return dict(start_to_first=start*1e3,first=first*1e3,later=later*1e3,seq_us=seq*1e6,par_us=par*1e6,priv_mb=pss/1024,script_cold=cold*1e3,script_warm=warm*1e3,script_hop_us=hop*1e6)
A,B,n=sys.argv[1],sys.argv[2],int(sys.argv[3])
ra=[];rb=[]
for i in range(n):
    if i%2: rb.append(measure(B)); ra.append(measure(A))
    else: ra.append(measure(A)); rb.append(measure(B))
for k in ra[0]:
    a=[x[k] for x in ra]; b=[x[k] for x in rb]
    print('%-15s A %.2f B %.2f ratio of medians %.3f median of ratios %.3f'%(k,statistics.median(a),statistics.median(b),statistics.median(b)/statistics.median(a),statistics.median([y/x for x,y in zip(a,b)])))
